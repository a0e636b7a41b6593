"""When an accuracy is reached, and which accuracies to look at."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from tiercut.measure.points import Point
from tiercut.measure.results import Contender
from tiercut.measure.spread import Spread


@dataclass(frozen=True)
class Reach:
    """Where the runs of a scheme reached a target: each at its first round that has it."""

    of: int
    """Runs there are, begun or not."""
    points: tuple[Point, ...]
    """Of those that reached it."""

    @property
    def by_all(self) -> bool:
        """Whether every run reached it."""
        return len(self.points) == self.of

    @property
    def seconds(self) -> Spread | None:
        """On the virtual clock; None where no run reached it."""
        return _spread([point.seconds for point in self.points])

    @property
    def bytes(self) -> Spread | None:
        """Over all links; None where no run reached it."""
        return _spread([point.bytes for point in self.points])

    def to_dict(self) -> dict[str, Any]:
        """Its part of the summary."""
        spreads = {
            "rounds": _spread([point.round for point in self.points]),
            "seconds": self.seconds,
            "bytes": self.bytes,
        }
        shown = {key: None if s is None else s.to_dict() for key, s in spreads.items()}
        return {"reached": len(self.points), "of": self.of, **shown}


def _spread(values: Sequence[float]) -> Spread | None:
    return Spread.of(values) if values else None


def find_reach(contender: Contender, target: float) -> Reach:
    """Where a scheme's runs reached a target; unfinished ones count, since that is settled."""
    first = (_first(run.points, target) for run in contender.runs)
    return Reach(len(contender.runs), tuple(point for point in first if point is not None))


def _first(points: Sequence[Point], target: float) -> Point | None:
    return next((point for point in points if point.accuracy >= target), None)


def choose_targets(contenders: Sequence[Contender]) -> tuple[float, ...]:
    """Up to three whole percents that say something about these schemes, in ascending order.

    The highest is below the worst scheme's final accuracy, and two schemes reach it from every seed
    that has begun. The others are on the way there from that scheme's first round.
    """
    if not contenders:
        return ()
    worst = min(contenders, key=_final)
    ceiling = math.floor(100 * _final(worst) + 1e-9)
    highest = next(_reached_by_two(contenders, ceiling), 0)
    begin = 100 * fmean(curve[0].accuracy for curve in worst.curves)
    step = max(1, round((highest - begin) / 4))
    percents = (highest - 2 * step, highest - step, highest)
    return tuple(percent / 100 for percent in percents if percent > 0)


def _final(contender: Contender) -> float:
    return fmean(curve[-1].accuracy for curve in contender.curves)


def _reached_by_two(contenders: Sequence[Contender], ceiling: int) -> Iterator[int]:
    """Whole percents from the ceiling downwards that two schemes reach, if there are two."""
    enough = min(2, len(contenders))
    for percent in range(ceiling, 0, -1):
        reaching = [c for c in contenders if _all_begun_reach(c, percent / 100)]
        if len(reaching) >= enough:
            yield percent


def _all_begun_reach(contender: Contender, target: float) -> bool:
    return all(_first(run.points, target) is not None for run in contender.begun)
