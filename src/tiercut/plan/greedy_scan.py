"""Every h, v and number of aggregators with greedy assignment: thorough, but proves nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tiercut.plan.candidates import Candidate
from tiercut.plan.greedy import aggregator_counts, fastest_greedy, greedy_candidates
from tiercut.plan.problem import Problem
from tiercut.plan.solution import Solution


def solve(problem: Problem, *, time_limit: float | None = None) -> Solution:
    """The fastest greedy plan, or the fastest so far when time is over."""
    counts = aggregator_counts(problem, len(problem.fleet))
    return fastest_greedy(problem, scan(problem, counts), time_limit)


def scan(problem: Problem, counts: Sequence[int]) -> Iterator[Candidate]:
    """The greedy plans of all (h, v) with these numbers of aggregators."""
    for h, v in problem.layer_pairs():
        yield from greedy_candidates(problem, h, v, counts)
