"""A stream of priced placements, and the fastest of them: what a search comes down to."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tiercut.cost import Placement
from tiercut.errors import InfeasibleError
from tiercut.plan.problem import Problem


@dataclass(frozen=True, eq=False)
class Candidate:
    """A placement and the seconds of its round."""

    seconds: float
    placement: Placement


def priced(problem: Problem, placement: Placement) -> Candidate:
    """`placement` as a candidate for `problem`."""
    return Candidate(problem.seconds(placement), placement)


def fastest(
    candidates: Iterable[Candidate],
    *,
    time_limit: float | None,
    otherwise: str,
    clock: Callable[[], float] = time.monotonic,
) -> Candidate:
    """The fastest candidate, the first among equals; `otherwise` says why there might be none.

    Candidates are drawn until `time_limit` is over, and at least one of them whatever the limit.
    """
    deadline = math.inf if time_limit is None else clock() + time_limit
    best: Candidate | None = None
    for candidate in candidates:
        if best is None or candidate.seconds < best.seconds:
            best = candidate
        if clock() >= deadline:
            break
    if best is None:
        raise InfeasibleError(otherwise)
    return best
