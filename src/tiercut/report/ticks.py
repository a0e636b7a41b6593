"""Where an axis of time has its marks: at numbers of seconds, minutes or hours that read well."""

from __future__ import annotations

import math
from itertools import chain, count

from tiercut.units import show_time

_CLOCK_STEPS = (15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200)


def time_ticks(low: float, high: float, most: int = 8) -> list[float]:
    """At most `most` + 1 moments between `low` and `high`, all multiples of one step."""
    if not high > low:
        return [low]
    step = _step((high - low) / most)
    return [step * i for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def show_tick(seconds: float) -> str:
    """A moment on an axis: 0, 30 s, 10 min, 2 h."""
    return show_time(seconds).removesuffix(" 00 s").removesuffix(" 00 min") if seconds else "0"


def _step(least: float) -> float:
    """The smallest step that reads well and is no smaller than `least`."""
    if least <= 10:
        unit = math.pow(10, math.floor(math.log10(least)))
        return next(unit * times for times in (1, 2, 5, 10) if unit * times >= least)
    days = (math.ldexp(86400, doublings) for doublings in count())
    return next(step for step in chain(_CLOCK_STEPS, days) if step >= least)
