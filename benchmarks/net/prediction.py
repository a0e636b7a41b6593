"""Predicted against measured: seconds and bytes of rounds on an emulated network.

    python benchmarks/net/prediction.py

Runs `tiercut emulate scenarios/emulate.toml` for each scheme, several times: AlexNet on eight
devices with links of 20 to 25 Mbps and shares of this machine's cores, everything over mutual TLS.
Each run measures its own hosts and plans by that; what the plan says is the prediction. Payload is
what the costs count: activations, gradients, labels and weights. The wire also carries what is
around it, and is read off the hosts' interfaces. Needs root; results go to prediction.json and
prediction.md beside this file.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SCENARIO = HERE.parents[1] / "scenarios" / "emulate.toml"
SCHEMES = ("aa-hsfl-ll", "sfl")
SECONDS_GOAL, BYTES_GOAL = 0.15, 0.02
PHASES = ("download", "training", "upload", "round")


def emulate(scheme: str, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """One run, and what its plan was."""
    words = ["emulate", str(SCENARIO), "--scheme", scheme, "--rounds", str(options.rounds)]
    words += ["--cores", str(options.cores), "-o", str(folder), "--json"]
    said = subprocess.run(
        [sys.executable, "-m", "tiercut", *words], check=True, stdout=subprocess.PIPE
    )
    plan = json.loads((folder / "plan.json").read_text())
    kept = ("aggregator_layer", "cut_layer", "aggregator_of", "seconds", "binding")
    found = json.loads(said.stdout)
    del found["folder"]
    return {
        **found,
        "load": os.getloadavg()[0],
        "plan": {key: plan[key] for key in kept if key in plan},
        "fleet": json.loads((folder / "fleet.json").read_text()),
    }


def payload(traffic: dict[str, float]) -> float:
    return sum(traffic.values())


def middle(values: Sequence[float]) -> str:
    """The median, and the range where there is one."""
    low, median, high = min(values), statistics.median(values), max(values)
    return f"{median:.2f}" if low == high else f"{median:.2f} ({low:.2f} to {high:.2f})"


def summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Medians over all rounds of all runs."""
    rounds = [found for run in runs for found in run["rounds"]]
    bytes_off = [
        payload(found["measured_bytes"]) / payload(found["predicted_bytes"]) - 1 for found in rounds
    ]
    ratio = statistics.median(found["ratio"] for found in rounds)
    return {
        "rounds": len(rounds),
        "ratio": ratio,
        "ratios": [found["ratio"] for found in rounds],
        "most_bytes_off": max(map(abs, bytes_off)),
        "met": abs(ratio - 1) <= SECONDS_GOAL and max(map(abs, bytes_off)) <= BYTES_GOAL,
    }


def table(scheme: str, runs: list[dict[str, Any]], found: dict[str, Any]) -> list[str]:
    rounds = [one for run in runs for one in run["rounds"]]
    lines = [
        f"## {scheme}",
        "",
        f"{len(runs)} runs, {found['rounds']} rounds; medians, and ranges in brackets.",
        "",
        "| phase | predicted s | measured s | measured / predicted |",
        "|---|---|---|---|",
    ]
    for phase in PHASES:
        predicted = [one["predicted"][phase] for one in rounds]
        measured = [one["measured"][phase] for one in rounds]
        ratios = [m / p for m, p in zip(measured, predicted, strict=True)]
        lines.append(f"| {phase} | {middle(predicted)} | {middle(measured)} | {middle(ratios)} |")
    lines += ["", "| bytes of a round | predicted MB | measured MB |", "|---|---|---|"]
    for kind in ("between", "server", "weights"):
        predicted = [one["predicted_bytes"][kind] / 1e6 for one in rounds]
        measured = [one["measured_bytes"][kind] / 1e6 for one in rounds]
        lines.append(f"| {kind} | {middle(predicted)} | {middle(measured)} |")
    whole = [payload(one["measured_bytes"]) / 1e6 for one in rounds]
    wire = [one["wire_bytes"] / 1e6 for one in rounds]
    around = [w / p - 1 for w, p in zip(wire, whole, strict=True)]
    lines += [
        f"| all payload | {middle([payload(one['predicted_bytes']) / 1e6 for one in rounds])} |"
        f" {middle(whole)} |",
        f"| on the wire | | {middle(wire)} |",
        "",
        f"The wire carries {statistics.median(around):.1%} more than the payload.",
        f"Goal (seconds within {SECONDS_GOAL:.0%}, bytes within {BYTES_GOAL:.0%}):"
        f" {'met' if found['met'] else 'missed'}; ratio of round times {found['ratio']:.3f},"
        f" payload off by at most {found['most_bytes_off']:.2%}.",
        f"The plan of the first run: {runs[0]['plan']['binding']}.",
        "",
    ]
    return lines


def page(results: dict[str, Any], cores: float) -> str:
    """All results, and how they were made."""
    loads = [run["load"] for found in results.values() for run in found["runs"]]
    lines = [
        "# Predicted against measured",
        "",
        f"`{' '.join(['python', 'benchmarks/net/prediction.py', *sys.argv[1:]])}`,"
        f" {time.strftime('%Y-%m-%d')}: {os.cpu_count()} cores ({platform.machine()}, Linux"
        f" {platform.release()}), of which all hosts together get {cores:g}; Python"
        f" {platform.python_version()}. The load average was {min(loads):.1f} to {max(loads):.1f}.",
        "",
    ]
    for scheme, found in results.items():
        lines += table(scheme, found["runs"], found)
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cores", type=float, default=1.2, help="the rest is left to the machine")
    options = parser.parse_args()
    results: dict[str, Any] = {}
    for scheme in SCHEMES:
        with tempfile.TemporaryDirectory() as scratch:
            runs = [
                emulate(scheme, Path(scratch) / str(n), options) for n in range(options.repeats)
            ]
        results[scheme] = {**summary(runs), "runs": runs}
    text = page(results, options.cores)
    (HERE / "prediction.json").write_text(json.dumps(results, indent=1) + "\n")
    (HERE / "prediction.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
