"""What is read off the runs of a contender: accuracies in percent, and what reaching one took."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from tiercut.measure.results import Contender, Results
from tiercut.measure.targets import find_reach
from tiercut.reproduce.results import Cell, Spread

GIGABYTE = 1e9


def named(results: Results, name: str) -> Contender | None:
    """The contender called `name`, if it takes part and has begun."""
    return next((one for one in results.begun if one.name == name), None)


def final_accuracy(contender: Contender) -> Spread | None:
    """After the last round; None where it has not begun."""
    return _mean([100 * curve[-1].accuracy for curve in contender.curves if curve])


def accuracy_at(contender: Contender, seconds: float) -> Spread | None:
    """After so much time; None where a run has not finished a round by then."""
    done = [[p for p in curve if p.seconds <= seconds] for curve in contender.curves]
    return _mean([100 * points[-1].accuracy for points in done]) if all(done) else None


def effort_to(contender: Contender, target: float) -> dict[str, Cell]:
    """Rounds, seconds and GB to a target, or how many seeds reached it where not all did.

    Nothing is told of one that has not begun.
    """
    reach = find_reach(contender, target)
    columns = {
        "rounds": [float(point.round) for point in reach.points],
        "seconds": [point.seconds for point in reach.points],
        "GB": [point.bytes / GIGABYTE for point in reach.points],
    }
    few = f"{len(reach.points)} of {reach.of} seeds" if contender.begun else None
    return {unit: _mean(values) if reach.by_all else few for unit, values in columns.items()}


def _mean(values: Sequence[float]) -> Spread | None:
    return Spread.of(values, fmean(values)) if values else None
