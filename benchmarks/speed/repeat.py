"""Whether runs repeat to the last digit, alone and beside others on the same device.

    python benchmarks/speed/repeat.py scenarios/fine-alexnet.toml --rounds 3 --times 8 --others 3

Trains a scenario several times, each time in a process of its own, and says which runs differ from
the first one and from which round on. The others train the same all the while, and come and go.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event

MEASURED = ("wall_seconds", "samples_per_second")
"""What no two runs have in common."""


def train(scenario: str, rounds: int, more: list[str], folder: Path) -> list[dict[str, object]]:
    """A run's records, less what is measured."""
    command = [sys.executable, "-m", "tiercut", "train", scenario, "--rounds", str(rounds)]
    command += [*more, "-o", str(folder), "--overwrite"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        sys.exit(f"{' '.join(command[1:])}\n{result.stderr}")
    lines = (folder / "rounds.jsonl").read_text().splitlines()
    return [
        {key: value for key, value in json.loads(line).items() if key not in MEASURED}
        for line in lines
    ]


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("scenario")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--times", type=int, default=5, help="runs that are compared")
    parser.add_argument("--others", type=int, default=0, help="runs beside them")
    asked, more = parser.parse_known_args()
    over = Event()
    with TemporaryDirectory() as name, ThreadPoolExecutor(max(asked.others, 1)) as pool:
        root = Path(name)

        def keep_busy(number: int) -> None:
            while not over.is_set():
                train(asked.scenario, asked.rounds, more, root / f"other-{number}")

        busy = [pool.submit(keep_busy, number) for number in range(asked.others)]
        try:
            runs = [
                train(asked.scenario, asked.rounds, more, root / "run") for _ in range(asked.times)
            ]
        finally:
            over.set()
    for each in busy:
        each.result()
    apart = [
        next(n for n, (a, b) in enumerate(zip(runs[0], run, strict=True), 1) if a != b)
        for run in runs[1:]
        if run != runs[0]
    ]
    where = f", from rounds {apart} on" if apart else ""
    print(f"beside {asked.others} others {len(apart)} of {asked.times - 1} runs differ{where}")


if __name__ == "__main__":
    main()
