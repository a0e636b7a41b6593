"""The fewest bytes to the target: rounds x bytes of a round.

Both follow from h, v and the number of aggregators, so this is a scan; who serves whom is then
chosen for the fastest round.
"""

from __future__ import annotations

import numpy as np

from tiercut.cost import Placement, round_bytes
from tiercut.errors import InfeasibleError
from tiercut.plan.goal.choices import Pair, find_pairs, is_impossible, search_pair
from tiercut.plan.goal.rounds import Evidence, Floats
from tiercut.plan.problem import Problem
from tiercut.plan.solution import Solution

MOST_TRIED = 60
"""How many choices may stay undecided before the search ends."""


def leanest(problem: Problem, evidence: Evidence) -> Solution:
    """The plan with the least rounds x bytes; its bound is on that product."""
    pairs = find_pairs(problem, evidence)
    totals = np.array([pair.rounds * bytes_of_numbers(problem, pair) for pair in pairs])
    doubtful = np.inf
    failed = 0
    for index in np.argsort(totals, axis=None, kind="stable"):
        which, number = np.unravel_index(index, totals.shape)
        total = float(totals[which, number])
        if np.isinf(total) or failed == MOST_TRIED:
            break
        search = search_pair(problem, pairs[which], int(pairs[which].numbers[number]))
        if search.placement is not None:
            return Solution(search.placement, min(total, doubtful))
        if not is_impossible(search, pairs[which]):
            failed += 1
            doubtful = min(doubtful, total)
    raise InfeasibleError(
        "no plan was found that satisfies what was fixed and forbidden and has evidence; allow more"
        " aggregators, forbid less, or give runs with other cuts and aggregators with --learn"
    )


def bytes_of_numbers(problem: Problem, pair: Pair) -> Floats:
    """Bytes of a round with each number of aggregators: a straight line between its ends."""
    clients = len(problem.fleet)
    ends = np.array([1, clients])
    amounts = [
        round_bytes(
            problem.fleet,
            problem.work,
            Placement.three_tiers(pair.h, pair.v, np.minimum(np.arange(clients), end - 1)),
            problem.scheme,
        ).total
        for end in ends
    ]
    return np.interp(pair.numbers, ends, amounts)
