"""Fewer aggregators at almost the same delay: less weight traffic, larger averaging groups."""

from __future__ import annotations

from dataclasses import replace

from tiercut.cost import Placement
from tiercut.plan.exact import SMALL_FLEET, Search
from tiercut.plan.plan import Plan, price
from tiercut.plan.problem import Problem

PATIENCE = ((1.0, 3.0),)
"""How long one number of aggregators is tried (see tiercut.plan.effort)."""


def with_fewest_aggregators(problem: Problem, plan: Plan, slack: float) -> Plan:
    """A plan at most a fraction `slack` slower than `plan`, with as few aggregators as was found.

    Small fleets try every number. Larger ones halve in on it, as if fewer were always slower,
    which they nearly always are. The certificate stays that of `plan`: its bound holds for plans
    with any number of aggregators. A number that the user fixed stays.
    """
    if problem.wishes.aggregators is not None:
        return plan
    limit = plan.seconds.round * (1 + slack)
    small = len(problem.fleet) <= SMALL_FLEET
    best = (_first if small else _halving)(problem, plan.placement, limit)
    return price(
        problem,
        best,
        solver=plan.solver,
        lower_bound=plan.lower_bound,
        wall_seconds=plan.wall_seconds,
    )


def _first(problem: Problem, known: Placement, limit: float) -> Placement:
    """The first number that works, from one upwards."""
    numbers = range(1, len(known.aggregators))
    found = (_within(problem, number, limit) for number in numbers)
    return next((placement for placement in found if placement is not None), known)


def _halving(problem: Problem, best: Placement, limit: float) -> Placement:
    """The least number that works, if all larger ones do."""
    low = 0
    while len(best.aggregators) - low > 1:
        middle = (low + len(best.aggregators)) // 2
        found = _within(problem, middle, limit)
        if found is None:
            low = middle
        else:
            best = found
    return best


def _within(problem: Problem, aggregators: int, limit: float) -> Placement | None:
    """A plan with exactly so many aggregators that takes at most `limit` seconds, if found."""
    fixed = replace(problem, wishes=replace(problem.wishes, aggregators=aggregators))
    search = Search(fixed, None)
    search.effort.patience = PATIENCE
    search.target, search.give_up_at = limit, limit * (1 + 1e-9)
    search.run()
    return search.placement if search.seconds <= limit else None
