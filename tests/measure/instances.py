"""Folders of comparisons that were never trained."""

import json

from tests.train.instances import BASE
from tiercut.cost import scheme_named
from tiercut.measure.results import read_results, run_path

PLAN = {
    "version": 1,
    "aggregator_layer": 2,
    "cut_layer": 4,
    "aggregators": 2,
    "round_seconds": 2.0,
    "bytes": {"total": 100.0},
    "binding": "the server",
    "wall_seconds": 1.23,
}


def record(number, accuracy, seconds=10.0, size=1000.0):
    """A line of rounds.jsonl, as far as it is looked at; the clock has even steps."""
    return {
        "round": number,
        "accuracy": accuracy,
        "seconds": number * seconds,
        "bytes": number * size,
        "wall_seconds": 0.5,
    }


def write_run(folder, scheme, seed, accuracies, plan=PLAN, **steps):
    path = run_path(folder, scheme, seed)
    path.mkdir(parents=True)
    lines = [json.dumps(record(n, a, **steps)) for n, a in enumerate(accuracies, start=1)]
    (path / "rounds.jsonl").write_text("".join(line + "\n" for line in lines))
    (path / "plan.json").write_text(json.dumps(plan))
    return path


def write_manifest(folder, schemes, seeds=(0,), rounds=3, **changes):
    manifest = {
        "version": 1,
        "tiercut": "0",
        "torch": "0",
        "python": "0",
        "device": "cpu",
        "command": ["tiercut", "compare"],
        "scenario": {**BASE, "training": {**BASE["training"], "rounds": rounds}},
        "schemes": list(schemes),
        "titles": {name: scheme_named(name).title for name in schemes},
        "seeds": list(seeds),
        "clients": 5,
        **changes,
    }
    folder.mkdir(exist_ok=True)
    (folder / "manifest.json").write_text(json.dumps(manifest))


def results(folder, runs, **changes):
    """The results where `runs` are accuracies by scheme and seed: {"sfl": {0: [0.1, 0.2]}}."""
    seeds = sorted({seed for by_seed in runs.values() for seed in by_seed})
    write_manifest(folder, runs, **{"seeds": seeds, **changes})
    for scheme, by_seed in runs.items():
        for seed, accuracies in by_seed.items():
            write_run(folder, scheme, seed, accuracies)
    return read_results(folder)
