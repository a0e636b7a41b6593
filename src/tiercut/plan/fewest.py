"""Fewer aggregators at almost the same delay: less weight traffic, larger averaging groups."""

from __future__ import annotations

from dataclasses import replace

from tiercut.cost import Placement
from tiercut.plan.exact import Search
from tiercut.plan.plan import Plan, price
from tiercut.plan.problem import Problem

PATIENCE = ((1.0, 3.0),)
"""How long one number of aggregators is tried (see tiercut.plan.exact.PATIENCE)."""


def with_fewest_aggregators(problem: Problem, plan: Plan, slack: float) -> Plan:
    """A plan at most a fraction `slack` slower than `plan`, with as few aggregators as was found.

    The numbers of aggregators are halved in on; the certificate stays that of `plan`, since its
    bound holds for plans with any number of aggregators.
    """
    limit = plan.seconds.round * (1 + slack)
    low, best = 0, plan.placement
    while len(best.aggregators) - low > 1:
        middle = (low + len(best.aggregators)) // 2
        found = _within(problem, middle, limit)
        if found is None:
            low = middle
        else:
            best = found
    return price(
        problem,
        best,
        solver=plan.solver,
        lower_bound=plan.lower_bound,
        wall_seconds=plan.wall_seconds,
    )


def _within(problem: Problem, aggregators: int, limit: float) -> Placement | None:
    """A plan with exactly so many aggregators that takes at most `limit` seconds, if found."""
    fixed = replace(problem, wishes=replace(problem.wishes, aggregators=aggregators))
    search = Search(fixed, None)
    search.effort.patience = PATIENCE
    search.target, search.give_up_at = limit, limit * (1 + 1e-9)
    search.run()
    return search.placement if search.seconds <= limit else None
