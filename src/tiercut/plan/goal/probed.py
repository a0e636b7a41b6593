"""Rounds from the curves of a probe: how much longer one cut takes to learn than another.

A probe averages nothing. So it knows about v alone: h, the aggregators and how often they average
make no difference to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tiercut.errors import InputError
from tiercut.plan.goal.curve import reached_after, show_percent
from tiercut.plan.goal.rounds import Floats, Ints, Rounds

LEARNED = 0.1
"""A cut that is not this far on the way from guessing to perfection has shown nothing yet."""


@dataclass(frozen=True, eq=False)
class ProbeCurves:
    """Accuracy by cut and epoch, with the standard error of that mean over clients."""

    cuts: tuple[int, ...]
    accuracy: Floats
    error: Floats
    classes: int

    def of(self, cuts: Sequence[int]) -> ProbeCurves:
        """Those of some cuts only."""
        missing = [v for v in cuts if v not in self.cuts]
        if missing:
            raise InputError(
                f"cut {missing[0]} was not probed; probe it too with `tiercut probe --cuts`, or"
                f" leave it away with --cuts"
            )
        rows = [self.cuts.index(v) for v in cuts]
        return ProbeCurves(tuple(cuts), self.accuracy[rows], self.error[rows], self.classes)

    @property
    def epochs(self) -> int:
        """How long it was."""
        return int(self.accuracy.shape[1])

    @property
    def sure(self) -> Floats:
        """What each cut reached for sure, within one standard error."""
        return np.asarray((self.accuracy - self.error).max(axis=1))

    def epochs_to(self, accuracy: float, errors: float = 0.0) -> Floats:
        """Epochs that each cut needs, so many standard errors above the mean."""
        curves = self.accuracy + errors * self.error
        return np.array([reached_after(c, accuracy, 1 / self.classes) for c in curves])

    def common(self, most: float) -> float:
        """An accuracy that all cuts reach for sure, the highest up to `most`."""
        worst = int(self.sure.argmin())
        accuracy = min(most, float(self.sure[worst]))
        if accuracy < 1 / self.classes + LEARNED * (1 - 1 / self.classes):
            raise InputError(
                f"cut {self.cuts[worst]} got no further than {show_percent(accuracy)} in the probe,"
                f" little better than guessing, so that cuts cannot be compared; probe for more"
                f" --epochs, or leave it away with --cuts"
            )
        return accuracy


@dataclass(frozen=True, eq=False)
class Probed:
    """Rounds by cut alone."""

    by_cut: dict[int, tuple[float, float, float]]
    """likely, low, high"""
    basis: str

    def rounds(self, h: int, v: int, aggregators: Ints) -> Rounds:
        """The same for every h and number of aggregators."""
        return Rounds.of(*(np.full(len(aggregators), amount) for amount in self.by_cut[v]))


def rounds_from_probe(
    curves: ProbeCurves, cuts: Sequence[int], target: float, epochs: float
) -> Probed:
    """The epochs that every cut took, as rounds of so many `epochs`, each over all of the data.

    Cuts are compared at an accuracy that all of them reach. What lies between that and the target
    is stretched as it was for the cut that reached the target first, and a cut that the probe saw
    fail needs longer than the probe.
    """
    own = curves.of(cuts)
    if own.sure.max() < target:
        raise InputError(
            f"the target is {show_percent(target)}, and the probe supports targets up to"
            f" {show_percent(own.sure.max())}; probe for more --epochs, add runs with --learn, or"
            f" lower --target"
        )
    compared = own.common(target)
    to_target = own.epochs_to(target)
    first = int(to_target.argmin())
    stretch = to_target[first] / own.epochs_to(compared)[first]
    at_least = np.where(np.isinf(to_target), own.epochs, 0)
    likely, low, high = (
        np.maximum(own.epochs_to(compared, errors) * stretch, at_least) / epochs
        for errors in (0, 1, -1)
    )
    by_cut = {v: (likely[i], low[i], high[i]) for i, v in enumerate(own.cuts)}
    return Probed(by_cut, _basis(own, compared, target, epochs))


def _basis(curves: ProbeCurves, compared: float, target: float, epochs: float) -> str:
    said = (
        f"a probe of {curves.epochs} epochs, {epochs:g} to a round; it averages nothing, so it"
        f" knows no difference between h, numbers of aggregators and intervals, and its spread is"
        f" that of its clients"
    )
    late = [str(v) for v, sure in zip(curves.cuts, curves.sure, strict=True) if sure < target]
    if not late:
        return said
    return (
        f"{said}; cut {', '.join(late)} did not surely reach the target, and cuts are compared at"
        f" {show_percent(compared)}"
    )


def relative_epochs(curves: ProbeCurves, cuts: Sequence[int]) -> dict[int, float]:
    """How many times as long every cut takes to an accuracy that all reach as the quickest does."""
    own = curves.of(cuts)
    needed = own.epochs_to(own.common(1.0))
    return dict(zip(own.cuts, (needed / needed.min()).tolist(), strict=True))
