"""The frontier over delay, bytes and number of aggregators.

The bytes of a round follow from h, v and the number of aggregators alone; only the delay needs a
search. Combinations that cannot be on the frontier, because a plan already found is at least as
good in everything, are not searched.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tiercut.cost import Placement, round_bytes
from tiercut.plan.exact import Search
from tiercut.plan.plan import Plan, price
from tiercut.plan.problem import Problem
from tiercut.plan.solve import solve

PATIENCE = ((0.005, 0.0), (0.02, 0.5), (1.0, 2.0))
"""Points need not be proved: a small gap, or a short search, is enough."""
MOST_COUNTS = 12
"""How many different numbers of aggregators are tried."""


@dataclass(frozen=True, eq=False)
class Point:
    """A plan on the frontier."""

    plan: Plan

    @property
    def measures(self) -> tuple[float, float, int]:
        """Delay, bytes and aggregators: less is better in all three."""
        plan = self.plan
        return plan.seconds.round, plan.traffic.total, len(plan.placement.aggregators)

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        seconds, amount, aggregators = self.measures
        placement = self.plan.placement
        return {
            "round_seconds": seconds,
            "bytes": amount,
            "aggregators": aggregators,
            "aggregator_layer": int(placement.aggregator_layers[0]),
            "cut_layer": int(placement.cut_layers[0]),
            "aggregator_of": placement.aggregator_of.tolist(),
        }


def frontier(
    problem: Problem, on_progress: Callable[[int, int], None] = lambda done, total: None
) -> list[Point]:
    """Plans that no other plan found beats in delay, bytes and aggregators at once."""
    best = solve(problem)
    combinations = _combinations(problem, len(best.placement.aggregators))
    points = [Point(best)]
    for done, (amount, h, v, aggregators) in enumerate(combinations):
        on_progress(done, len(combinations))
        beaten_from = min(
            (s for s, b, k in (p.measures for p in points) if b <= amount and k <= aggregators),
            default=np.inf,
        )
        plan = _fastest(problem, h, v, aggregators, beaten_from)
        if plan is not None:
            points.append(Point(plan))
    return sorted(
        (p for p in points if not any(_beats(other, p) for other in points)),
        key=lambda point: point.measures,
    )


def _combinations(problem: Problem, of_best: int) -> list[tuple[float, int, int, int]]:
    """Every (bytes, h, v, number of aggregators) to look at, the least bytes first."""
    clients = len(problem.fleet)
    fixed = problem.wishes.aggregators
    grid = np.geomspace(1, clients, MOST_COUNTS).round().astype(int)
    counts = np.unique([*grid, of_best]).tolist()
    combinations = []
    for h, v in problem.layer_pairs():
        for aggregators in counts if fixed is None else [fixed]:
            anyone = np.minimum(np.arange(clients), aggregators - 1)
            placement = Placement.three_tiers(h, v, anyone)
            amount = round_bytes(problem.fleet, problem.work, placement, problem.scheme).total
            combinations.append((amount, h, v, aggregators))
    return sorted(combinations)


def _fastest(problem: Problem, h: int, v: int, aggregators: int, beaten_from: float) -> Plan | None:
    """The fastest plan found, or None where it cannot be faster than `beaten_from`."""
    wishes = replace(problem.wishes, aggregator_layer=h, aggregators=aggregators)
    own = replace(problem, cuts=(v,), wishes=wishes)
    search = Search(own, None)
    search.effort.patience = PATIENCE
    search.give_up_at = beaten_from
    search.run()
    if search.placement is None or search.seconds >= beaten_from:
        return None
    return price(own, search.placement, solver="exact", lower_bound=search.lower_bound())


def _beats(other: Point, point: Point) -> bool:
    theirs, ours = other.measures, point.measures
    return theirs != ours and all(t <= o for t, o in zip(theirs, ours, strict=True))
