"""What a solver returns: a placement, and what it could prove about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from tiercut.cost import Placement
from tiercut.plan.problem import Problem


@dataclass(frozen=True, eq=False)
class Solution:
    """A placement and, where the solver can prove one, a bound that no plan can beat."""

    placement: Placement
    lower_bound: float | None = None


class Progress(Protocol):
    """Called now and then with the best seconds so far and the bound proved so far."""

    def __call__(self, seconds: float, lower_bound: float) -> None:
        """Take note."""


def quiet(seconds: float, lower_bound: float) -> None:
    """Take no note."""


class Solver(Protocol):
    """A way to choose a placement; `time_limit` is in seconds, None for as long as it takes."""

    def __call__(
        self, problem: Problem, *, time_limit: float | None = None, **options: Any
    ) -> Solution:
        """Solve `problem`; only some solvers take further options, such as `progress`."""
