"""What `make demo` runs: from a scenario to a page with the results, on the embedded digits.

Every step is a command that you could type yourself; results go to ./demo-results.
"""

import shlex
import sys
from pathlib import Path

from rich.console import Console

from tiercut.cli import app

SCENARIO = Path(__file__).resolve().parent.parent / "scenarios" / "demo.toml"
RESULTS = Path("demo-results")
SCHEMES = "sfl,locsfl,dtfl,aa-hsfl-ll"

STEPS = {
    "The model: what each layer costs for one sample": "profile {model}",
    "The data: who has what": "data show {scenario} --plot {results}/spread.svg",
    "Algorithm 1: which cut layers keep accuracy": "probe {scenario} --clients 4 --epochs {epochs}"
    " -o {results}/probe.json --plot {results}/cuts.svg",
    "The plan, and the proof of how good it is": "plan {scenario} -o {results}/plan.json"
    " --picture {results}/groups.svg",
    "One batch: who computes and sends what, when": "timeline {scenario}"
    " --plan {results}/plan.json -o {results}/timeline.svg",
    "Four schemes, trained on the same data from the same weights": "compare {scenario}"
    " --schemes {schemes} --seeds 1 --rounds {rounds} -o {results}/comparison",
    "The page": "report {results}/comparison -o {results}/report.html",
}


def main(quick: bool) -> None:
    console = Console()
    values = {"model": "small", "scenario": SCENARIO, "results": RESULTS, "schemes": SCHEMES}
    values |= {"epochs": 1 if quick else 4, "rounds": 1 if quick else 8}
    for number, (title, command) in enumerate(STEPS.items(), start=1):
        console.rule(f"{number}. {title}")
        words = [word.format(**values) for word in shlex.split(command)]
        console.print(f"$ tiercut {shlex.join(words)}", style="bold", highlight=False)
        app(words, standalone_mode=False)
    console.rule("Done")
    print(f"open ./{RESULTS}/report.html in a browser; everything else is in ./{RESULTS}")


if __name__ == "__main__":
    main(quick="--quick" in sys.argv[1:])
