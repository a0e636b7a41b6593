"""The fewest bytes of a round, for schemes with one cut for all; the fastest of equals."""

from __future__ import annotations

import numpy as np

from tiercut.cost import Placement, round_bytes
from tiercut.errors import InfeasibleError
from tiercut.plan.candidates import priced
from tiercut.plan.exact import NO_PLAN
from tiercut.plan.goal.leanest import leanest
from tiercut.plan.goal.rounds import Ints, Rounds
from tiercut.plan.problem import Problem
from tiercut.plan.solution import Solution


class _OneRound:
    """Nobody knows how many rounds it takes: all plans are compared by one."""

    basis = "one round of every plan"

    def rounds(self, h: int, v: int, aggregators: Ints) -> Rounds:
        """One, whatever the plan."""
        one = np.ones(len(aggregators))
        return Rounds(one, one, one)


def three_tiers(problem: Problem, *, time_limit: float | None = None) -> Solution:
    """AA HSFL-ll: every h, v and number of aggregators, then who serves whom for speed."""
    try:
        return Solution(leanest(problem, _OneRound()).placement)
    except InfeasibleError as error:
        raise InfeasibleError(NO_PLAN) from error  # evidence, which it names, is not asked for here


def single_cut(problem: Problem, *, time_limit: float | None = None) -> Solution:
    """LocSFL: every cut."""
    clients = len(problem.fleet)
    placements = [Placement.two_tiers(np.full(clients, v)) for v in problem.cuts]
    return Solution(
        min(
            placements,
            key=lambda placement: (
                round_bytes(problem.fleet, problem.work, placement, problem.scheme).total,
                priced(problem, placement).seconds,
            ),
        )
    )
