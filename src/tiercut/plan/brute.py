"""Every plan there is: the judge of all other solvers, for fleets small enough to count.

It shares no rule about who may serve whom with the solvers it judges, and prices every plan with
the cost model itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

import numpy as np

from tiercut.cost import Placement
from tiercut.errors import InputError
from tiercut.plan.candidates import Candidate, fastest, priced
from tiercut.plan.problem import Problem
from tiercut.plan.solution import Solution

MOST_CLIENTS = 8
"""Eight clients form 41,393 sets of groups, nine already 293,608; each is priced for all h, v."""


def solve(problem: Problem, *, time_limit: float | None = None) -> Solution:
    """The best of all plans, which is its own lower bound unless time ran out before the last."""
    count = len(problem.fleet)
    if count > MOST_CLIENTS:
        raise InputError(
            f"the fleet has {count} clients, and trying every plan takes too long beyond"
            f" {MOST_CLIENTS}; use --solver exact, which proves how good its plans are as well"
        )
    plans = _every_plan(problem)
    best = fastest(plans, time_limit=time_limit, otherwise=_why_none(problem))
    all_seen = next(plans, None) is None
    return Solution(best.placement, best.seconds if all_seen else None)


def _every_plan(problem: Problem) -> Iterator[Candidate]:
    assignments = list(_every_assignment(problem))
    for h, v in problem.layer_pairs():
        for aggregator_of in assignments:
            yield priced(problem, Placement.three_tiers(h, v, aggregator_of))


def _every_assignment(problem: Problem) -> Iterator[tuple[int, ...]]:
    """Every set of aggregators, fewest first, with every way to spread the others over it."""
    clients = range(len(problem.fleet))
    may_serve = [[_may_serve(problem, k, n) for n in clients] for k in clients]
    exactly = problem.wishes.aggregators
    for size in range(1, len(clients) + 1) if exactly is None else [exactly]:
        for aggregators in combinations(clients, size):
            choices = [
                [n] if n in aggregators else [k for k in aggregators if may_serve[k][n]]
                for n in clients
            ]
            yield from product(*choices)


def _may_serve(problem: Problem, k: int, n: int) -> bool:
    """Whether client k may aggregate for another client n."""
    wishes = problem.wishes
    willing = wishes.allowed is None or k in wishes.allowed
    forbidden = (n, k) in wishes.forbidden or (k, n) in wishes.forbidden
    rate = problem.fleet.links.pairs(np.array([n]), np.array([k]))[0]
    return willing and not forbidden and bool(rate > 0)


def _why_none(problem: Problem) -> str:
    # Without a fixed number there is always a plan: everybody serves itself.
    return (
        f"the number of aggregators is fixed to {problem.wishes.aggregators}, and no such plan"
        f" keeps to the fleet's links, the allowed aggregators and the forbidden pairs; ask for"
        f" another number (--lambda) or forbid less"
    )
