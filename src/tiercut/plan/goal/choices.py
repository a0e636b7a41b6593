"""Every h, v and number of aggregators that there is evidence for, with its rounds."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tiercut.cost import Placement
from tiercut.errors import InfeasibleError
from tiercut.plan.effort import Patience
from tiercut.plan.exact import Search
from tiercut.plan.goal.rounds import Evidence, Floats, Ints
from tiercut.plan.limits import Limits
from tiercut.plan.problem import Problem

PATIENCE: Patience = ((0.001, 0.0), (0.005, 1.0), (0.02, 3.0), (1.0, 10.0))
"""How long one pair of layers is searched: there are many (see tiercut.plan.effort)."""


@dataclass(frozen=True, eq=False)
class Pair:
    """One (h, v), with the rounds for each number of aggregators."""

    h: int
    v: int
    numbers: Ints
    rounds: Floats

    @property
    def least(self) -> float:
        """The fewest rounds."""
        return float(self.rounds.min())

    @property
    def is_flat(self) -> bool:
        """Whether the number of aggregators makes no difference."""
        return bool((self.rounds == self.rounds[0]).all())

    def rounds_of(self, placement: Placement) -> float:
        """The rounds of a placement with these layers."""
        number = len(placement.aggregators)
        return float(self.rounds[np.searchsorted(self.numbers, number)])


def find_pairs(problem: Problem, evidence: Evidence) -> list[Pair]:
    """The pairs with any evidence, those with the fewest rounds first."""
    fixed = problem.wishes.aggregators
    numbers = np.arange(1, len(problem.fleet) + 1) if fixed is None else np.array([fixed])
    pairs = [
        Pair(h, v, numbers, evidence.rounds(h, v, numbers).likely) for h, v in problem.layer_pairs()
    ]
    known = [pair for pair in pairs if np.isfinite(pair.least)]
    if not known:
        raise InfeasibleError(
            f"there is no evidence about any plan that is possible here; what there is: "
            f"{evidence.basis}; give runs with such cuts and aggregators with --learn, or a --probe"
        )
    return sorted(known, key=lambda pair: pair.least)


def search_pair(
    problem: Problem, pair: Pair, number: int | None, give_up_at: float = np.inf
) -> Search:
    """The search for the fastest round of a pair, with a number of aggregators or any."""
    given = problem.wishes.aggregators if number is None else number
    wishes = replace(problem.wishes, aggregator_layer=pair.h, aggregators=given)
    search = Search(replace(problem, cuts=(pair.v,), wishes=wishes), None)
    search.give_up_at = give_up_at
    if not search.small:
        search.effort.patience = PATIENCE
    search.run()
    return search


def is_impossible(search: Search, pair: Pair) -> bool:
    """Whether a search proved that there is no plan: not even the slowest thinkable is left."""
    worst = Limits(search.sites, pair.h, pair.v).worst()
    return search.placement is None and search.lower_bound() >= worst
