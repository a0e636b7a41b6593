"""What one scheme saves over the others on the way to a target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tiercut.measure.spread import Spread
from tiercut.measure.targets import Reach

USUAL = "aa-hsfl-ll"
"""Whose gains are of interest where it takes part."""

Reaches = Mapping[str, Mapping[float, Reach]]
"""By scheme and target."""


@dataclass(frozen=True)
class Gain:
    """The share of another scheme's mean that is saved; negative where it is exceeded."""

    scheme: str
    over: str
    target: float
    seconds: float
    bytes: float


def scheme_of_interest(schemes: Sequence[str]) -> str:
    """AA HSFL-ll, or the last one named where it does not take part."""
    return USUAL if USUAL in schemes else schemes[-1]


def find_gains(reaches: Reaches, ours: str, targets: Sequence[float]) -> list[Gain]:
    """What the scheme `ours` saves over the others, target by target.

    Only where every run of both reached it: a mean over the lucky ones would flatter.
    """
    return [
        _gain(ours, other, target, reaches)
        for target in targets
        for other in reaches
        if other != ours and _compares(reaches, (ours, other), target)
    ]


def _compares(reaches: Reaches, schemes: Sequence[str], target: float) -> bool:
    return all(name in reaches and reaches[name][target].by_all for name in schemes)


def _gain(ours: str, other: str, target: float, reaches: Reaches) -> Gain:
    mine, theirs = reaches[ours][target], reaches[other][target]
    seconds = _saved(mine.seconds, theirs.seconds)
    return Gain(ours, other, target, seconds, _saved(mine.bytes, theirs.bytes))


def _saved(mine: Spread | None, theirs: Spread | None) -> float:
    assert mine is not None
    assert theirs is not None
    return 1 - mine.mean / theirs.mean
