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


def saving(results: Results, ours: str, target: float) -> Saving | None:
    """None where not all seeds of `ours`, or of any rival, reach the target."""
    mine = _costs(results, ours, target)
    rivals = {
        name: costs for name in RIVALS if (costs := _costs(results, name, target)) is not None
    }
    if mine is None or not rivals:
        return None
    fastest = min(rivals, key=lambda name: rivals[name][0])
    least = min(size for _, size in rivals.values())
    return Saving(
        results.manifest.titles[fastest],
        _percent(mine[0], rivals[fastest][0]),
        _percent(mine[1], rivals[fastest][1]),
        _percent(mine[1], least),
    )


def reached_by_all(results: Results, name: str, target: float) -> bool:
    """Whether every seed of a contender reaches the target."""
    return _costs(results, name, target) is not None


def _costs(results: Results, name: str, target: float) -> tuple[float, float] | None:
    """Mean seconds and bytes to a target."""
    contender = named(results, name)
    reach = None if contender is None else find_reach(contender, target)
    if reach is None or not reach.by_all:
        return None
    return fmean(point.seconds for point in reach.points), fmean(p.bytes for p in reach.points)


def _percent(mine: float, theirs: float) -> float:
    return 100 * (1 - mine / theirs)
