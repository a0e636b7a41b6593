"""How fast it is: every figure from one run, on the device named in the result.

    python benchmarks/speed/run.py            all of it, several minutes; results beside this file
    python benchmarks/speed/run.py --held-out the paper's settings on fleets nobody tuned on
    python benchmarks/speed/run.py --quick    a small version, nothing written; the gate runs it

The planner's constants (how long to search for which gap) were chosen while looking at seeds 0..9,
so the figures for those seeds flatter it. --held-out uses seeds 100..109.

Absolute times mean little on a shared machine; the ratios and gaps are what to look at.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import tiercut
from tiercut.cost import Placement, Workload, round_seconds, scheme_named
from tiercut.documents import to_json, write_text
from tiercut.fleet import Access, Fleet, sample_fleet
from tiercut.models.profile import shipped_profile
from tiercut.plan.plan import Plan
from tiercut.plan.problem import Problem, all_cuts
from tiercut.plan.solve import solve
from tiercut.report.growth import plot_growth
from tiercut.scenario import FleetSection
from tiercut.seeds import Seeds

HERE = Path(__file__).resolve().parent
EXAMPLES = {"alexnet": 60_000, "vgg11": 50_000, "vgg19": 50_000, "resnet101": 90_000}
PAPER_CUTS = {"alexnet": (5,), "vgg11": (7, 8), "vgg19": (15, 16), "resnet101": (24, 25, 26)}
DIFFERENT = {"throughput": (2e9, 40e9), "rates": (5e6 / 8, 50e6 / 8)}
AA = scheme_named("aa-hsfl-ll")


def problem(model: str, fleet: Fleet, cuts: tuple[int, ...] | None = None) -> Problem:
    profile = shipped_profile(model)
    return Problem(fleet, Workload(profile), cuts or all_cuts(profile.depth, AA))


def paper_fleet(model: str, clients: int, seed: int, **changes: Any) -> Fleet:
    """The paper's fleet; larger ones give every client as much data as a hundred would have."""
    examples = EXAMPLES[model] // min(clients, 100)
    section = FleetSection(clients=clients, examples=examples, **changes)
    return sample_fleet(section, Seeds(seed))


def cpu_seconds(*command: str) -> float:
    """CPU of a child process, the least of five runs."""

    def once() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return min(once() for _ in range(5))


def startup() -> dict[str, Any]:
    """`import tiercut; tiercut plan --help`: CPU seconds, against 0.5, and whether torch loads."""
    spent = cpu_seconds(sys.executable, "-m", "tiercut", "plan", "--help")
    code = (
        "import sys; sys.argv = ['tiercut', 'plan', '--help']\n"
        "from tiercut.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "sys.exit('torch' in sys.modules)"
    )
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    return {
        "cpu_seconds": spent,
        "of_allowed_0.5_s": spent / 0.5,
        "without_torch": child.returncode == 0,
    }


def cost_of_a_plan(clients: int) -> dict[str, Any]:
    """The closed-form delay of one plan on access links: milliseconds, against 50."""
    fleet = paper_fleet("vgg11", clients, 0, links="access")
    placement = Placement.three_tiers(3, 8, np.arange(clients) // 5 * 5)
    work = Workload(shipped_profile("vgg11"))
    times = []
    for _ in range(20):
        start = time.perf_counter()
        round_seconds(fleet, work, placement, AA, "network")
        times.append((time.perf_counter() - start) * 1e3)
    return {"clients": clients, "ms": median(times), "of_allowed_50_ms": median(times) / 50}


@dataclass(frozen=True)
class Match:
    """`exact` against `paper` on one problem, in CPU seconds."""

    gap: float
    exact_seconds: float
    paper_seconds: float
    paper_slower_by: float


def compare(one: Problem) -> Match:
    exact, exact_seconds = timed(one, "exact")
    paper, paper_seconds = timed(one, "paper")
    assert exact.gap is not None
    excess = paper.seconds.round / exact.seconds.round - 1
    return Match(exact.gap, exact_seconds, paper_seconds, excess)


def summary(matches: list[Match]) -> dict[str, Any]:
    ratios = [match.exact_seconds / match.paper_seconds for match in matches]
    return {
        "problems": len(matches),
        "gap_median": median(match.gap for match in matches),
        "gap_max": max(match.gap for match in matches),
        "cpu_seconds_median": median(match.exact_seconds for match in matches),
        "cpu_seconds_max": max(match.exact_seconds for match in matches),
        "cpu_time_over_papers_median": median(ratios),
        "cpu_time_over_papers_max": max(ratios),
        "paper_slower_by_median": median(match.paper_slower_by for match in matches),
    }


def timed(one: Problem, solver: str) -> tuple[Plan, float]:
    start = time.process_time()
    plan = solve(one, solver)
    return plan, time.process_time() - start


def paper_settings(counts: tuple[int, ...], seeds: range) -> dict[str, Any]:
    """Four models, every seed; all candidate cuts, and the cuts around the paper's own choice."""
    solve(problem("small", paper_fleet("vgg11", 30, 0)))  # loads what a first call loads
    result: dict[str, Any] = {}
    for name in ("all cuts", "paper's cuts"):
        everything: list[Match] = []
        for model in EXAMPLES:
            cuts = None if name == "all cuts" else PAPER_CUTS[model]
            for clients in counts:
                fleets = [paper_fleet(model, clients, seed) for seed in seeds]
                matches = [compare(problem(model, fleet, cuts)) for fleet in fleets]
                result[f"{name}, {model}, N = {clients}"] = summary(matches)
                everything += matches
        result[f"{name}, everything"] = summary(everything)
    return result


def different_clients(clients: int, seeds: int, time_limit: float | None) -> dict[str, Any]:
    """Fleets where every client differs."""
    result = {}
    for model in EXAMPLES:
        plans = [
            solve(
                problem(model, paper_fleet(model, clients, seed, **DIFFERENT), PAPER_CUTS[model]),
                time_limit=time_limit,
            )
            for seed in range(seeds)
        ]
        result[f"{model}, N = {clients}"] = {
            "gap_max": max(plan.gap for plan in plans),
            "wall_seconds_max": max(plan.wall_seconds for plan in plans),
        }
    return result


def large(kind: str, clients: int) -> dict[str, Any]:
    """One large fleet in a process of its own, for its memory."""
    command = [sys.executable, __file__, "--one", kind, str(clients)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    result: dict[str, Any] = json.loads(out)
    return result


def one_large(kind: str, clients: int) -> dict[str, Any]:
    fleet = of_kinds(clients) if kind == "classes" else paper_fleet("vgg11", clients, 0)
    plan = solve(problem("vgg11", fleet, PAPER_CUTS["vgg11"]))
    return {
        "clients": clients,
        "gap": plan.gap,
        "wall_seconds": plan.wall_seconds,
        "peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def of_kinds(clients: int, kinds: int = 100) -> Fleet:
    """Access links, and clients of a hundred kinds; the server grows with the fleet."""
    stream = Seeds(0).stream("benchmark", "kinds")
    kind = stream.integers(0, kinds, clients)
    low, high = DIFFERENT["rates"]
    return Fleet(
        tuple(f"device-{n}" for n in range(clients)),
        stream.uniform(*DIFFERENT["throughput"], kinds)[kind],
        np.full(clients, 500),
        2e9 * clients,
        stream.uniform(low, high, kinds)[kind],
        Access(stream.uniform(low, high, kinds)[kind]),
    )


def growth() -> dict[str, Any]:
    """Wall seconds against N, plotted."""
    dense = [large("dense", n) for n in (30, 100, 300, 1_000, 3_000, 10_000)]
    kinds = [large("classes", n) for n in (1_000, 10_000, 100_000, 1_000_000)]
    series = {
        "dense rates": [(run["clients"], run["wall_seconds"]) for run in dense],
        "100 kinds of clients": [(run["clients"], run["wall_seconds"]) for run in kinds],
    }
    plot_growth(
        series,
        HERE / "growth.svg",
        x_label="clients",
        y_label="seconds to plan",
        title="Planning VGG-11 on larger and larger fleets",
    )
    return {"dense": dense, "100 kinds": kinds}


def run(quick: bool, held_out: bool) -> dict[str, Any]:
    if held_out:
        return {"paper settings, seeds 100..109": paper_settings((30, 60, 100), range(100, 110))}
    if quick:
        return {
            "startup": startup(),
            "cost of a plan": cost_of_a_plan(10_000),
            "paper settings": paper_settings((30,), range(1)),
            "different clients": different_clients(30, 1, None),
            "large": [large("dense", 400), large("classes", 20_000)],
        }
    return {
        "startup": startup(),
        "cost of a plan": cost_of_a_plan(10_000),
        "paper settings": paper_settings((30, 60, 100), range(10)),
        "different clients": {
            **different_clients(100, 5, 3.0),
            **different_clients(1_000, 1, 55.0),
        },
        "growth": growth(),
    }


def markdown(result: dict[str, Any]) -> str:
    lines = ["# Speed", "", f"Made by `{result['command']}` on {result['device']}.", ""]
    for title, part in result["figures"].items():
        lines += [f"## {title}", "", "```", *flat(part), "```", ""]
    if "growth" in result["figures"]:
        lines += ["![seconds to plan against the number of clients](growth.svg)", ""]
    return "\n".join(lines)


def flat(part: Any, before: str = "") -> list[str]:
    if isinstance(part, dict):
        if all(not isinstance(value, dict | list) for value in part.values()):
            inside = ", ".join(f"{key} {show(value)}" for key, value in part.items())
            return [f"{before}{': ' if before else ''}{inside}"]
        return [
            line for key, value in part.items() for line in flat(value, f"{before} {key}".strip())
        ]
    if isinstance(part, list):
        return [line for value in part for line in flat(value, before)]
    return [f"{before}: {show(part)}"]


def show(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small version, nothing written")
    parser.add_argument("--held-out", action="store_true", help="fleets nobody tuned on")
    parser.add_argument("--one", nargs=2, metavar=("KIND", "CLIENTS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(one_large(options.one[0], int(options.one[1]))))
        return
    result = {
        "command": "python benchmarks/speed/run.py"
        + "".join(
            f" --{name}"
            for name, given in (("quick", options.quick), ("held-out", options.held_out))
            if given
        ),
        "device": f"{platform.machine()} {platform.system()}, {os.cpu_count()} cores, CPU only",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "tiercut": tiercut.__version__,
        "figures": run(options.quick, options.held_out),
    }
    text = markdown(result)
    print(text)
    if not options.quick:
        name = "held-out" if options.held_out else "result"
        write_text(HERE / f"{name}.json", to_json(result))
        write_text(HERE / ("held-out.md" if options.held_out else "README.md"), text)


if __name__ == "__main__":
    main()
