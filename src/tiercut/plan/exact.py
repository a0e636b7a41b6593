"""The default planner: the best plan it can find, with a lower bound that proves how good it is.

For every pair of layers (h, v) the thresholds on a round's phases form a box. A box is refuted
(tiercut.plan.relax), settled (tiercut.plan.integer), or split; points in it are tried for real
plans (tiercut.plan.assign). The boxes still open always carry a proved bound, so the search can
stop at any moment and say how far from the best its plan can be at most. docs/algorithms.md
explains it.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field, replace
from itertools import count

import numpy as np
from numpy.typing import NDArray

from tiercut.cost import Placement, round_seconds
from tiercut.errors import InfeasibleError
from tiercut.plan.assign import assign
from tiercut.plan.effort import FIXED_NUMBER_PATIENCE, PATIENCE, Effort
from tiercut.plan.greedy import greedy_candidates
from tiercut.plan.integer import PairProgram
from tiercut.plan.limits import Box, Limits
from tiercut.plan.problem import Problem, Wishes
from tiercut.plan.relax import Prices, Relaxation, relax, relax_with_number, slots_suffice
from tiercut.plan.sites import find_sites
from tiercut.plan.solution import Progress, Solution, quiet

Ints = NDArray[np.int64]

NO_PLAN = (
    "no plan satisfies what was fixed and forbidden; allow more aggregators or fewer conditions"
    " (--aggregators, --allow, --forbid, --lambda)"
)
SMALL_FLEET = 12
"""Up to so many clients an integer program settles a whole (h, v) faster than splitting does."""
SHAVES = 2
"""Halvings when a bound is raised; more make nodes dearer, fewer make more nodes."""
ROOT_STEPS = 6
POLISHES = 4
DESCENTS = 5
WORTHWHILE = 2e-4
"""Improvements of a plan below this share of a round are not looked for."""
MANY_SITES = 300
"""With more sites than this, pairs are so many that a sample of the fleet is searched first."""
SAMPLE = 100
LEAF = 3e-5
"""Boxes whose sides are below this share of a round are no longer split."""
MOST_PAIRS = 1_000_000
"""Beyond so many pairs of members and hosts only counting is affordable."""
SMALL_FLEET_SECONDS = 60.0
MOST_SECONDS = 4.0
"""What one integer program may take."""
MOST_VARIABLES = 20_000
"""The largest integer program worth trying."""
PRICE_ITERATIONS = 10
"""How often prices are improved while they come close to a proof."""
GLANCES = 2
"""The same before members are placed: plans that prices refute need not be looked for."""


@dataclass(order=True)
class Node:
    """A box of one (h, v) that may still hold a better plan; ordered by its proved bound."""

    bound: float
    tie: int
    limits: Limits = field(compare=False)
    box: Box = field(compare=False)
    coarse: bool = field(compare=False)
    """Whether counting could still shrink the box that this is half of; where it could not, only
    the dearer tests get any further."""


def solve(
    problem: Problem,
    *,
    time_limit: float | None = None,
    start: Placement | None = None,
    progress: Progress = quiet,
) -> Solution:
    """The best plan for `problem`, with its certificate; `start` is a plan known to be possible."""
    search = Search(problem, time_limit)
    search.progress = progress
    if start is not None:
        search.consider(start)
    search.run()
    if search.placement is None:
        raise InfeasibleError(NO_PLAN)
    return Solution(search.placement, search.lower_bound())


class Search:
    """Best-first branch and bound over boxes of thresholds."""

    def __init__(self, problem: Problem, time_limit: float | None) -> None:
        """Prepare every (h, v)."""
        self.problem = problem
        self.sites = find_sites(problem)
        self.small = len(problem.fleet) <= SMALL_FLEET
        self.tolerance = 1e-9 if self.small else 2e-4 if time_limit is not None else 9e-4
        fixed_number = problem.wishes.aggregators is not None
        patience = FIXED_NUMBER_PATIENCE if fixed_number else PATIENCE
        self.effort = Effort(time_limit, () if self.small else patience)
        self.seconds = math.inf
        self.placement: Placement | None = None
        self.prices: dict[tuple[int, int], Prices] = {}
        self.open: list[Node] = []
        self.settled = math.inf
        """The least bound among boxes that were given up on."""
        self.most_variables = MOST_VARIABLES
        self.target = 0.0
        """A plan this fast is good enough, and nothing else is looked for."""
        self.give_up_at = math.inf
        """Plans this slow are of no interest."""
        self.progress: Progress = quiet
        self._ties = count()

    # ------------------------------------------------------------------ the search

    def run(self) -> None:
        """Search until the gap is good enough."""
        self._first_plan()
        self._open_roots()
        while self.open and not self.effort.accepts(self.gap(), self.tolerance * 1.01):
            if self.settled < min(self.open[0].bound, self._goal()):
                break  # the bound is set by a box that nothing here can decide
            if self.seconds <= self.target or self.lower_bound() >= self.give_up_at:
                break
            self.progress(self.seconds, self.lower_bound())
            self._process(heapq.heappop(self.open))

    def lower_bound(self) -> float:
        """No plan takes fewer seconds than this."""
        least = self.open[0].bound if self.open else math.inf
        return min(self.seconds, self.settled, least)

    def gap(self) -> float:
        """How far the best plan may be from the best possible one, as a fraction."""
        if math.isinf(self.seconds):
            return math.inf
        return 1 - self.lower_bound() / self.seconds

    def _goal(self) -> float:
        """Boxes without plans faster than this are of no interest."""
        return self.seconds * (1 - self.tolerance)

    def _most(self, limits: Limits) -> float:
        """The goal, or before there is any plan what none of this (h, v) exceeds."""
        goal = self._goal()
        return goal if goal < math.inf else limits.worst()

    def _first_plan(self) -> None:
        """Something to improve on: everybody alone, or the greedy plan if a number is fixed."""
        wanted = self.problem.wishes.aggregators
        pairs = self.problem.layer_pairs()
        if wanted is None:
            for v, h in {v: h for h, v in pairs}.items():  # alone, a client's h makes no difference
                self._consider(h, v, np.arange(len(self.problem.fleet)))
            return
        for h, v in pairs:
            for candidate in greedy_candidates(self.problem, h, v, [wanted]):
                self._consider(h, v, candidate.placement.aggregator_of)

    def _consider(self, h: int, v: int, served_by: Ints) -> None:
        self.consider(Placement.three_tiers(h, v, served_by))

    def consider(self, placement: Placement) -> None:
        """Keep a plan if it is the best so far; of equally fast ones the one with fewer hosts."""
        seconds = self.problem.seconds(placement)
        better = seconds < self.seconds
        if seconds == self.seconds and self.placement is not None:
            better = len(placement.aggregators) < len(self.placement.aggregators)
        if better:
            self.seconds, self.placement = seconds, placement

    def _push(self, bound: float, limits: Limits, box: Box, *, coarse: bool = True) -> None:
        heapq.heappush(self.open, Node(bound, next(self._ties), limits, box, coarse))

    # --------------------------------------------------------------------- roots

    def _open_roots(self) -> None:
        """A first bound and a first plan for every (h, v); most are refuted by a better one's."""
        scout = self._scout()
        roots = [Limits(self.sites, h, v) for h, v in self.problem.layer_pairs()]
        for limits in sorted(roots, key=Limits.estimate):
            h, v = limits.h, limits.v
            box = Box(limits.floor, tuple(math.inf for _ in limits.floor))
            start = limits.cost(limits.floor)
            if self.effort.is_late():
                self._push(start, limits, box)  # no time to look at it: only the floor is proved
                continue
            most = self._most(limits)
            if self._relax(limits, most, box) is None:
                self._close(most)
                continue
            bound, feasible = self._raise_bound(limits, box, start, most, steps=ROOT_STEPS)
            hint = None if scout is None else scout.thresholds_of(h, v)
            if hint is not None:
                self._follow(limits, bound, hint)
            elif self._try(limits, box, min(feasible * 1.02, most)):
                self._polish(limits, bound, POLISHES)
            self._push(bound, limits, box)

    def _follow(self, limits: Limits, bound: float, hint: tuple[float, ...]) -> None:
        """Find a plan near the thresholds that suited a sample; a whole fleet has worse luck."""
        for luck in (1.0, 1.01, 1.03, 1.1):
            before = self.seconds
            self._descend(limits, bound, tuple(t * luck for t in hint), free=1)
            if self.seconds < before:
                self._polish(limits, bound, 1)
                return

    def _scout(self) -> Search | None:
        """A search of a sample of a large fleet: it tells where in the large one to look first."""
        if len(self.sites) <= MANY_SITES or self.problem.wishes != Wishes():
            return None
        fleet = self.problem.fleet
        sample = fleet.subset(np.linspace(0, len(fleet) - 1, SAMPLE).astype(np.int64))
        share = len(sample) / len(fleet)
        sample = replace(sample, server_throughput=fleet.server_throughput * share)
        scout = Search(replace(self.problem, fleet=sample), None)
        scout.run()
        return scout

    def thresholds_of(self, h: int, v: int) -> tuple[float, ...] | None:
        """What the best plan needs of each threshold, if it is one of this (h, v)."""
        assert self.placement is not None
        chosen = (self.placement.aggregator_layers[0], self.placement.cut_layers[0])
        return self._thresholds(Limits(self.sites, h, v)) if chosen == (h, v) else None

    def _relax(self, limits: Limits, seconds: float, box: Box) -> Relaxation | None:
        """The relaxed problem, or None if counting refutes it; a fixed number is counted too."""
        relaxation = relax(limits, seconds, box)
        self.effort.spent += 8500.0 + (0 if relaxation is None else relaxation.size / 2)
        wanted = self.problem.wishes.aggregators
        if relaxation is None or wanted is None:
            return relaxation
        self.effort.spent += 8500.0 + len(self.sites) ** 2 / 2
        return relax_with_number(limits, seconds, box, wanted)

    def _raise_bound(
        self, limits: Limits, box: Box, low: float, high: float, steps: int
    ) -> tuple[float, float]:
        """The largest refuted number of seconds, and the least that was not, by halving."""
        for _ in range(steps):
            middle = (low + high) / 2
            if self._relax(limits, middle, box) is None:
                low = middle
            else:
                high = middle
        return low, high

    # --------------------------------------------------------------------- nodes

    def _process(self, node: Node) -> None:
        """Refute, settle or split one box."""
        limits, goal = node.limits, self._most(node.limits)
        box = limits.tight(goal, node.box)
        if box is None or (node.coarse and self._relax(limits, goal, box) is None):
            self._close(goal)
            return
        if self.small and self.sites.single:
            self._settle(node)
            return
        shaved = self._shave(limits, goal, box) if node.coarse else box
        if shaved is None or not self._possible(limits, goal, shaved):
            self._close(goal)
            return
        self._split(node, goal, shaved)

    def _split(self, node: Node, goal: float, box: Box) -> None:
        """Look for a plan in the middle of `box`, which is what is left of a node's; halve it."""
        limits = node.limits
        bound = low = max(node.bound, limits.cost(box.low))
        if node.coarse:
            bound, _ = self._raise_bound(limits, box, low, goal, SHAVES)
        widths = self._widths(limits, box)
        axis = int(np.argmax(widths))
        if widths[axis] < LEAF * self.seconds:
            self._settle(replace(node, bound=bound, box=box))
            return
        middle = [(low + high) / 2 for low, high in zip(box.low, box.high, strict=True)]
        # Plans need every host they can get: theta may take up to half of the time to spare.
        theta = box.low[0] + (goal - limits.cost(box.low)) / (2 * limits.rates[0])
        self._descend(limits, bound, (min(theta, box.high[0]), *middle[1:]), free=1)
        coarse = bound > low or box.low != node.box.low
        self._push(bound, limits, box.at_most(axis, middle[axis]), coarse=coarse)
        self._push(bound, limits, box.at_least(axis, middle[axis]), coarse=coarse)

    def _close(self, bound: float) -> None:
        """Nothing below `bound` is left in a box."""
        self.settled = min(self.settled, bound)

    def _possible(self, limits: Limits, seconds: float, box: Box) -> bool:
        """Whether even the dearest test does not refute `seconds` in `box`."""
        relaxation = self._relax(limits, seconds, box)
        if relaxation is not None and relaxation.is_a_guess:
            # A plan with a fixed number of aggregators is a plan: what refutes all refutes it too.
            relaxation = relax(limits, seconds, box)
        if relaxation is None or relaxation.size > MOST_PAIRS:
            return relaxation is not None
        if not relaxation.single:
            self.effort.spent += 15_000.0 + 5 * relaxation.size
            return slots_suffice(relaxation)
        return not self._priced_out(limits, relaxation, PRICE_ITERATIONS)

    def _priced_out(self, limits: Limits, relaxation: Relaxation, iterations: int) -> bool:
        """Whether prices prove that not everybody has a place."""
        at_first = Prices(np.ones(len(self.sites)))
        prices = self.prices.setdefault((limits.h, limits.v), at_first)
        refuted, steps = prices.refute(relaxation, iterations)
        self.effort.spent += steps * (4000.0 + 2 * relaxation.size)
        return refuted

    def _shave(self, limits: Limits, goal: float, box: Box) -> Box | None:
        """Raise each threshold's low end as far as halving can refute what is below it."""
        for axis in range(len(box.low)):
            low, high = box.low[axis], box.high[axis]
            for _ in range(SHAVES):
                middle = (low + high) / 2
                if self._relax(limits, goal, box.at_most(axis, middle)) is None:
                    low = middle
                else:
                    high = middle
            shaved = limits.tight(goal, box.at_least(axis, low))
            if shaved is None:
                return None
            box = shaved
        return box

    def _widths(self, limits: Limits, box: Box) -> list[float]:
        """The box's sides in seconds of the round; theta's counts half, as hosts are charged it."""
        sides = zip(limits.rates, box.high, box.low, strict=True)
        widths = [rate * (high - low) for rate, high, low in sides]
        return [widths[0] / 2, *widths[1:]]

    def _settle(self, node: Node) -> None:
        """Let the integer program decide a whole box, if it is small enough for that."""
        bound = node.bound
        if self.sites.single:
            program = PairProgram(node.limits, self._most(node.limits), node.box)
            self.effort.spent += 20_000.0 * program.variables
            enough = self.effort.accepts(1 - bound / self.seconds, self.tolerance)
            if program.variables <= self.most_variables and not enough:
                most_seconds = SMALL_FLEET_SECONDS if self.small else MOST_SECONDS
                answer = program.solve(self.effort.remaining_seconds(most_seconds))
                if answer.served_by is not None:
                    self._consider(node.limits.h, node.limits.v, answer.served_by)
                bound = max(bound, answer.lower_bound)
                if not answer.complete:  # a program of this size would not end the next time either
                    self.most_variables = program.variables // 2
        self._close(bound)

    # --------------------------------------------------------------- finding plans

    def _try(self, limits: Limits, box: Box, seconds: float) -> bool:
        """Look for a plan within `seconds` and `box`, and keep it if it is the best so far."""
        relaxation = self._relax(limits, seconds, box)
        if relaxation is None:
            return False
        known = (limits.h, limits.v) in self.prices and relaxation.size <= MOST_PAIRS
        if known and self._priced_out(limits, relaxation, GLANCES):
            return False  # sooner said than all attempts to place them have failed
        self.effort.spent += 20_000.0 + 10 * relaxation.size
        served_by = assign(relaxation, self.sites)
        if served_by is None:
            return False
        self._consider(limits.h, limits.v, served_by)
        return True

    def _polish(self, limits: Limits, low: float, times: int) -> None:
        """Improve the best plan by pressing on one threshold after another until none gives way."""
        axes = len(limits.floor)
        firm = 0
        for turn in range(times * axes):
            before = self.seconds
            self._descend(limits, low, self._thresholds(limits), free=turn % axes)
            firm = 1 if self.seconds < before * (1 - WORTHWHILE) else firm + 1
            if firm == axes:
                return

    def _thresholds(self, limits: Limits) -> tuple[float, ...]:
        """What the best plan, which is of this (h, v), needs of each threshold."""
        assert self.placement is not None
        spent = round_seconds(
            self.problem.fleet,
            self.problem.work,
            self.placement,
            self.problem.scheme,
            self.problem.model,
        )
        if self.problem.model == "paper":
            return (spent.download, spent.forward, spent.backward)
        return (spent.download, (spent.round - 2 * spent.download) / limits.weight)

    def _descend(
        self, limits: Limits, low: float, thresholds: tuple[float, ...], free: int
    ) -> None:
        """Look for the fastest plan with all thresholds but one fixed, by halving."""
        box = Box(
            tuple(
                f if j == free else t
                for j, (t, f) in enumerate(zip(thresholds, limits.floor, strict=True))
            ),
            tuple(math.inf if j == free else t for j, t in enumerate(thresholds)),
        )
        low = max(low, limits.cost(box.low))
        if not self._try(limits, box, self.seconds * (1 - WORTHWHILE)):
            return
        for _ in range(DESCENTS):
            if self.effort.is_late():
                return
            middle = (low + self.seconds) / 2
            if self.seconds - low < WORTHWHILE * self.seconds:
                return
            if not self._try(limits, box, middle):
                low = middle
