"""Rounds from runs: a line through the logarithms of what they took to the target."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tiercut.errors import InputError
from tiercut.plan.goal.curve import show_percent
from tiercut.plan.goal.lesson import FEATURES, Lesson, Sizes, features
from tiercut.plan.goal.regression import Line, fit
from tiercut.plan.goal.rounds import Floats, Ints, Rounds
from tiercut.scenario import Interval

LEAST_SETTINGS = 3
"""With fewer, leaving one out does not show how well the others predict it."""
BEYOND = 0.25
"""How far beyond the runs a feature may go, as a share of its range over them."""


@dataclass(frozen=True, eq=False)
class Learned:
    """A line, and where it holds."""

    sizes: Sizes
    intervals: tuple[Interval, Interval]
    line: Line
    relative: dict[int, float] | None
    """How many times as long as the quickest each cut took in a probe, where there was one."""
    cuts: tuple[int, int]
    """The shallowest and the deepest that the runs had; a probe knows of more."""
    low: Floats
    high: Floats
    """The ends of every feature."""
    basis: str

    def rounds(self, h: int, v: int, aggregators: Ints) -> Rounds:
        """As the line says; infinite where it would be mere extrapolation."""
        x = features(self.sizes, h, v, aggregators, self.intervals)
        offset = _offset(self.relative, [v] * len(x))
        y, width = self.line.predict(x, offset)
        near = (x >= self.low) & (x <= self.high)
        known = near[:, list(self.line.columns)].all(axis=1)
        if not self.line.offset:
            known &= self.cuts[0] <= v <= self.cuts[1]
        return Rounds.spread(np.where(known, np.exp(y), math.inf), width)


def rounds_from_runs(
    lessons: Sequence[Lesson],
    target: float,
    sizes: Sizes,
    intervals: tuple[Interval, Interval],
    relative: dict[int, float] | None = None,
) -> Learned:
    """What runs teach about rounds with `intervals`; `relative` is what a probe says of cuts."""
    reached = [(run, run.rounds_to(target)) for run in lessons]
    ended = [run for run, rounds in reached if math.isinf(rounds)]
    known = [(run, rounds) for run, rounds in reached if not math.isinf(rounds)]
    if _settings(run for run, _ in known) < LEAST_SETTINGS:
        raise InputError(_too_few(lessons, target))
    line = _fit(known, sizes, relative)
    # A run that ended before the target says "later than that", where others would say sooner.
    later = [
        (run, float(len(run.curve)))
        for run in ended
        if _predict(line, run, sizes, relative) < len(run.curve)
    ]
    if later:
        known += later
        line = _fit(known, sizes, relative)
    x = np.concatenate([_features(run, sizes) for run, _ in known])
    margin = BEYOND * np.ptp(x, axis=0) + 1e-9
    cuts = [run.v for run, _ in known]
    return Learned(
        sizes,
        intervals,
        line,
        relative,
        (min(cuts), max(cuts)),
        x.min(axis=0) - margin,
        x.max(axis=0) + margin,
        _basis([run for run, _ in known], line, len(ended)),
    )


def _settings(runs: Iterable[Lesson]) -> int:
    return len({run.setting for run in runs})


def _fit(
    known: Sequence[tuple[Lesson, float]], sizes: Sizes, relative: dict[int, float] | None
) -> Line:
    runs = [run for run, _ in known]
    number = {setting: n for n, setting in enumerate(dict.fromkeys(r.setting for r in runs))}
    return fit(
        np.concatenate([_features(run, sizes) for run in runs]),
        np.log([rounds for _, rounds in known]),
        np.array([number[run.setting] for run in runs]),
        None if relative is None else _offset(relative, [run.v for run in runs]),
    )


def _features(run: Lesson, sizes: Sizes) -> Floats:
    return features(sizes, run.h, run.v, np.array([run.aggregators]), run.intervals)


def _predict(line: Line, run: Lesson, sizes: Sizes, relative: dict[int, float] | None) -> float:
    y, _ = line.predict(_features(run, sizes), _offset(relative, [run.v]))
    return math.exp(y[0])


def _offset(relative: dict[int, float] | None, cuts: Sequence[int]) -> Floats:
    return np.log([1.0 if relative is None else relative[v] for v in cuts])


def _too_few(lessons: Sequence[Lesson], target: float) -> str:
    best: dict[tuple[object, ...], float] = {}
    for run in lessons:
        best[run.setting] = max(best.get(run.setting, 0.0), *run.curve)
    reached = sorted(best.values(), reverse=True)
    needed = f"at least {LEAST_SETTINGS} different settings of cut, aggregators and intervals"
    if len(reached) < LEAST_SETTINGS:
        return (
            f"the runs to learn from have {len(reached)} different settings; expected {needed};"
            f" give more runs with --learn, or a --probe alone"
        )
    return (
        f"the target is {show_percent(target)}, and runs of {needed} reached"
        f" {show_percent(reached[LEAST_SETTINGS - 1])}; lower --target to that, or train them for"
        f" longer"
    )


def _basis(runs: Sequence[Lesson], line: Line, ended: int) -> str:
    parts = ["the probe's ratios of cuts"] if line.offset else []
    parts += [FEATURES[column] for column in line.columns]
    said = (
        f"{len(runs)} runs of {_settings(runs)} settings, told apart by"
        f" {', '.join(parts) or 'nothing, so that all choices are equal'}; the runs of a setting"
        f" were missed by a factor of {math.exp(line.error):.2f} when the others predicted it, and"
        f" that is the spread"
    )
    return f"{said}; {ended} runs ended before the target" if ended else said
