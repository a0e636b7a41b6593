"""The least time to the target: rounds x seconds of a round, with a bound on the product.

Rounds follow from h, v and the number of aggregators. So a pair (h, v) is searched for its fastest
round with any number first, which bounds all numbers at once. Numbers are then tried one by one,
always in the range with the smallest bound.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field

from tiercut.cost import Placement
from tiercut.errors import InfeasibleError
from tiercut.plan.exact import SMALL_FLEET, Search
from tiercut.plan.goal.choices import Pair, find_pairs, is_impossible, search_pair
from tiercut.plan.goal.rounds import Evidence
from tiercut.plan.problem import Problem
from tiercut.plan.solution import Progress, Solution, quiet

ENOUGH = 1e-3
"""Products that can only be better by less than this share are not looked for."""
MOST_NUMBERS = 200
"""How many single numbers of aggregators are searched, unless the fleet is small."""


@dataclass(order=True)
class _Range:
    """Numbers of aggregators not searched yet, from index `first` to before `end`."""

    bound: float
    pair: Pair = field(compare=False)
    floor: float = field(compare=False)
    """Seconds that no round of the pair beats."""
    first: int = field(compare=False)
    end: int = field(compare=False)


def fastest(problem: Problem, evidence: Evidence, progress: Progress = quiet) -> Solution:
    """The plan with the least rounds x seconds found; its bound is on that product."""
    hunt = _Hunt(problem, progress)
    for pair in find_pairs(problem, evidence):
        hunt.open(pair)
    hunt.run()
    if hunt.placement is None:
        raise InfeasibleError(
            "no plan satisfies what was fixed and forbidden and has evidence; allow more"
            " aggregators, forbid less, or give runs with other cuts and aggregators with --learn"
        )
    return Solution(hunt.placement, hunt.lower_bound())


class _Hunt:
    """Best-first branch and bound over ranges of numbers of aggregators."""

    def __init__(self, problem: Problem, progress: Progress) -> None:
        self.problem = problem
        self.progress = progress
        self.total = math.inf
        self.placement: Placement | None = None
        self.ranges: list[_Range] = []
        self.settled = math.inf
        """The least bound among what was searched."""

    def lower_bound(self) -> float:
        """No plan has a smaller product."""
        least = self.ranges[0].bound if self.ranges else math.inf
        return min(self.total, self.settled, least)

    def open(self, pair: Pair) -> None:
        """Search a pair with any number of aggregators: a plan, and a bound for all numbers."""
        search = search_pair(self.problem, pair, None, self.total / pair.least)
        self._consider(pair, search)
        if pair.is_flat:
            self._settle(pair, pair.least, search)
        else:
            self._push(pair, search.lower_bound(), 0, len(pair.numbers))

    def run(self) -> None:
        """Try single numbers until nothing much better is possible, or it was long enough."""
        small = len(self.problem.fleet) <= SMALL_FLEET
        left = math.inf if small else MOST_NUMBERS
        enough = 1e-9 if small else ENOUGH
        while left and self.ranges and self.ranges[0].bound < self.total * (1 - enough):
            self.progress(self.total, self.lower_bound())
            self._split(heapq.heappop(self.ranges))
            left -= 1

    def _split(self, numbers: _Range) -> None:
        """Search a number in the middle of a range, by ratio, and put back those beside it."""
        pair = numbers.pair
        middle = math.isqrt((numbers.first + 1) * numbers.end) - 1
        self._push(pair, numbers.floor, numbers.first, middle)
        self._push(pair, numbers.floor, middle + 1, numbers.end)
        rounds = float(pair.rounds[middle])
        if math.isinf(rounds):
            return
        search = search_pair(self.problem, pair, int(pair.numbers[middle]), self.total / rounds)
        self._consider(pair, search)
        self._settle(pair, rounds, search)

    def _push(self, pair: Pair, floor: float, first: int, end: int) -> None:
        if first < end:
            bound = floor * float(pair.rounds[first:end].min())
            if math.isfinite(bound):
                heapq.heappush(self.ranges, _Range(bound, pair, floor, first, end))

    def _consider(self, pair: Pair, search: Search) -> None:
        if search.placement is None:
            return
        total = search.seconds * pair.rounds_of(search.placement)
        if total < self.total:
            self.total, self.placement = total, search.placement

    def _settle(self, pair: Pair, rounds: float, search: Search) -> None:
        if not is_impossible(search, pair):
            self.settled = min(self.settled, rounds * search.lower_bound())
