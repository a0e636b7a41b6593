"""The one call behind which both goals stand."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tiercut.plan.goal.fastest import fastest
from tiercut.plan.goal.leanest import leanest
from tiercut.plan.goal.objective import Kind, Objective
from tiercut.plan.goal.rounds import Evidence
from tiercut.plan.plan import Plan, price
from tiercut.plan.problem import Problem
from tiercut.plan.solution import Progress, quiet


def reach(
    problem: Problem,
    kind: Kind,
    target: float,
    evidence: Evidence,
    *,
    progress: Progress = quiet,
    clock: Callable[[], float] = time.perf_counter,
) -> Plan:
    """The plan that is expected to reach `target` with the least time or bytes."""
    start = clock()
    if kind == "time-to-accuracy":
        solution = fastest(problem, evidence, progress)
    else:
        solution = leanest(problem, evidence)
    # The round's own bound stays unsaid: it is of plans that this one does not compete with.
    plan = price(problem, solution.placement, solver="exact", wall_seconds=clock() - start)
    assert solution.lower_bound is not None
    h, v = plan.placement.aggregator_layers[0], plan.placement.cut_layers[0]
    number = np.array([len(plan.placement.aggregators)])
    rounds = evidence.rounds(int(h), int(v), number)
    likely = float(rounds.likely[0])
    objective = Objective(
        kind,
        target,
        likely,
        float(rounds.low[0]),
        float(rounds.high[0]),
        likely * plan.seconds.round,
        likely * plan.traffic.total,
        solution.lower_bound,
        evidence.basis,
    )
    return replace(plan, objective=objective)
