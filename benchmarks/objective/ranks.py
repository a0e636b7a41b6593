"""How well estimated rounds rank real ones: from runs that were trained, and a probe.

    python benchmarks/objective/ranks.py SCENARIO RUNS PROBE --targets 50,60,70,80,90

Every setting (cut, aggregators, intervals) in RUNS is estimated from the runs of all other
settings, and from the probe alone, and compared with the mean of its own runs.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from tiercut.errors import InputError
from tiercut.fleet import build_fleet
from tiercut.measure.lessons import read_lessons
from tiercut.models.profile import shipped_profile
from tiercut.plan.goal.learned import rounds_from_runs
from tiercut.plan.goal.lesson import Lesson, Sizes
from tiercut.plan.goal.probed import ProbeCurves, rounds_from_probe
from tiercut.probe.result import read_probe
from tiercut.scenario import read_scenario
from tiercut.seeds import Seeds


def main() -> None:
    """Print a line per target."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("scenario", "runs", "probe"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--targets", default="50,60,70,80,90")
    asked = parser.parse_args()
    scenario = read_scenario(asked.scenario)
    fleet = build_fleet(scenario.fleet, Seeds(scenario.seed))
    training = scenario.training
    batches = training.epochs * fleet.batches_per_epoch(training.batch)
    depth = shipped_profile(scenario.model.name).depth
    sizes = Sizes(depth, len(fleet), batches, training.epochs)
    runs = read_lessons([asked.runs], scenario, len(fleet)).runs
    found = read_probe(asked.probe)
    error = found.spread / math.sqrt(len(found.clients))
    curves = ProbeCurves(found.cuts, found.accuracy, error, found.classes)
    print(f"{len(runs)} runs of {len({run.setting for run in runs})} settings")
    for target in (float(percent) / 100 for percent in asked.targets.split(",")):
        real = rounds_of_settings(runs, target)
        print(
            f"{target:.0%}: {min(real.values()):.1f} to {max(real.values()):.1f} rounds;", end=" "
        )
        print("from the other runs:", compare(real, left_out(runs, sizes, target, real)), end="; ")
        print("from the probe:", compare(real, probed(curves, target, sizes.epochs, real)))


Settings = dict[Lesson, float]
"""Rounds by setting; a run without its curve stands for it."""


def rounds_of_settings(runs: tuple[Lesson, ...], target: float) -> Settings:
    groups: dict[Lesson, list[float]] = {}
    for run in runs:
        groups.setdefault(replace(run, curve=()), []).append(run.rounds_to(target))
    return {setting: float(np.mean(rounds)) for setting, rounds in groups.items()}


def left_out(runs: tuple[Lesson, ...], sizes: Sizes, target: float, real: Settings) -> Settings:
    estimates = {}
    for setting in real:
        others = [run for run in runs if replace(run, curve=()) != setting]
        learned = rounds_from_runs(others, target, sizes, setting.intervals)
        rounds = learned.rounds(setting.h, setting.v, np.array([setting.aggregators]))
        estimates[setting] = float(rounds.likely[0])
    return estimates


def probed(curves: ProbeCurves, target: float, epochs: int, real: Settings) -> Settings:
    cuts = sorted({setting.v for setting in real})
    try:
        by_cut = rounds_from_probe(curves, cuts, target, epochs).by_cut
    except InputError:
        return {}
    return {setting: by_cut[setting.v][0] for setting in real}


def compare(real: Settings, estimates: Settings) -> str:
    """Spearman's rank correlation and the typical factor between estimates and reality."""
    both = [s for s in real if math.isfinite(real[s]) and math.isfinite(estimates.get(s, math.inf))]
    if len(both) < 3:
        return f"{len(both)} of {len(real)} settings"
    pairs = np.array([(real[s], estimates[s]) for s in both])
    factor = math.exp(float(np.abs(np.diff(np.log(pairs), axis=1)).mean()))
    ranks = float(spearmanr(pairs[:, 0], pairs[:, 1]).statistic)
    return f"{len(both)} of {len(real)} settings, Spearman {ranks:.2f}, factor {factor:.2f}"


if __name__ == "__main__":
    main()
