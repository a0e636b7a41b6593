"""Results of studies that were never trained."""

import json

from tests.measure.instances import PLAN, write_manifest, write_run
from tiercut.measure.results import read_results
from tiercut.reproduce.trained import MACHINE, RESULTS
from tiercut.schemes import find_scheme

HERE = {"accelerator": "abacus", "platform": "wood", "cpus": 1}


def titles(study):
    return {one.name: find_scheme(one.spec).cost.title for one in study.contenders}


def write_study(
    study, folder, curves, rounds=3, seconds=None, plans=None, gigabytes=None, overrides=None
):
    """A study's folder where `curves` are accuracies by contender and seed; others do not begin.

    Where nothing else is said a round takes ten seconds, and as many gigabytes as seconds.
    """
    results = folder / RESULTS
    names = titles(study)
    results.mkdir(parents=True)
    seeds = sorted({seed for by_seed in curves.values() for seed in by_seed}) or [0]
    write_manifest(results, [], seeds, rounds)
    manifest = json.loads((results / "manifest.json").read_text())
    manifest |= {"schemes": list(names), "titles": names, "overrides": overrides or {}}
    (results / "manifest.json").write_text(json.dumps(manifest))
    for name, by_seed in curves.items():
        for seed, accuracies in by_seed.items():
            write_run(
                results,
                name,
                seed,
                accuracies,
                plan=(plans or {}).get(name, PLAN),
                seconds=(seconds or {}).get(name, 10.0),
                size=1e9 * (gigabytes or seconds or {}).get(name, 10.0),
            )
    (results / MACHINE).write_text(json.dumps(HERE))
    return read_results(results)
