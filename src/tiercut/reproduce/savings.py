"""What a contender saves over the best rival on the way to an accuracy."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean

from tiercut.measure.results import Results
from tiercut.measure.targets import find_reach
from tiercut.reproduce.readings import named

RIVALS = ("sfl", "multihop", "locsfl", "dtfl", "dtfl-contended")
"""Those of the paper, and DTFL knowing that the server is shared: the stronger one."""


@dataclass(frozen=True)
class Saving:
    """Percent of the rival's mean; negative where more is needed."""

    over: str
    """The fastest rival's title."""
    delay: float
    overhead: float
    """Against the same rival, as the paper's text does."""
    least_overhead: float
    """Against the rival with the least traffic."""


@dataclass(frozen=True)
class Cost:
    """What it took to reach an accuracy, on the mean over the seeds."""

    delay: float
    """Seconds."""
    traffic: float
    """Bytes."""


def saving(results: Results, ours: str, target: float) -> Saving | None:
    """None where not all seeds of `ours`, or of any rival, reach the target."""
    mine = cost_to(results, ours, target)
    rivals = {name: cost for name in RIVALS if (cost := cost_to(results, name, target)) is not None}
    if mine is None or not rivals:
        return None
    fastest = min(rivals, key=lambda name: rivals[name].delay)
    least = min(cost.traffic for cost in rivals.values())
    return Saving(
        results.manifest.titles[fastest],
        percent_saved(mine.delay, rivals[fastest].delay),
        percent_saved(mine.traffic, rivals[fastest].traffic),
        percent_saved(mine.traffic, least),
    )


def reached_by_all(results: Results, name: str, target: float) -> bool:
    """Whether every seed of a contender reaches the target."""
    return cost_to(results, name, target) is not None


def cost_to(results: Results, name: str, target: float) -> Cost | None:
    """What a contender needs to a target; None where a seed does not reach it."""
    contender = named(results, name)
    reach = None if contender is None else find_reach(contender, target)
    if reach is None or not reach.by_all:
        return None
    return Cost(
        fmean(point.seconds for point in reach.points), fmean(p.bytes for p in reach.points)
    )


def percent_saved(mine: float, theirs: float) -> float:
    """How much less is needed, in percent; negative where it is more."""
    return 100 * (1 - mine / theirs)
