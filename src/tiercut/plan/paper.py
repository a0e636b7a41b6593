"""The paper's Algorithm 2 as it was evidently meant; paper_literal has it as printed.

For every candidate cut v the aggregator layer h is found by bisection: a deeper h moves work from
aggregators to clients, so the sign of T_aggr - T_clients changes at most once over 2..v-1. At every
h visited, the strongest K clients aggregate, K from 1 to N/2, and the others are assigned greedily.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tiercut.cost import Placement
from tiercut.plan.candidates import Candidate
from tiercut.plan.greedy import aggregator_counts, fastest_greedy, greedy_candidates
from tiercut.plan.problem import Problem
from tiercut.plan.solution import Solution

BETA = 0.01
"""The step of lambda, the share of clients that aggregate."""


def solve(problem: Problem, *, time_limit: float | None = None) -> Solution:
    """The fastest plan that the search comes across."""
    return fastest_greedy(problem, _candidates(problem), time_limit)


def paper_counts(problem: Problem) -> Sequence[int]:
    """The numbers of aggregators that the paper tries: 1 to N/2 in steps of beta N."""
    clients = len(problem.fleet)
    return aggregator_counts(problem, max(1, clients // 2), max(1, round(BETA * clients)))


def layers_below(problem: Problem) -> dict[int, list[int]]:
    """The aggregator layers that may be chosen below every cut that has any."""
    layers: dict[int, list[int]] = {}
    for h, v in problem.layer_pairs():
        layers.setdefault(v, []).append(h)
    return layers


def imbalance(problem: Problem, placement: Placement) -> float:
    """T_aggr - T_clients: seconds per batch that the slowest aggregator computes longer forward."""
    h, v = (int(x[0]) for x in (placement.aggregator_layers, placement.cut_layers))
    throughput, work = problem.fleet.throughput, problem.work
    aggregators = work.forward(h + 1, v) * (placement.hosted / throughput).max()
    return float(aggregators - work.forward(1, h) / throughput.min())


def _candidates(problem: Problem) -> Iterator[Candidate]:
    for v, layers in layers_below(problem).items():
        yield from _bisection(problem, v, layers[0], layers[-1])


def _bisection(problem: Problem, v: int, low: int, high: int) -> Iterator[Candidate]:
    """The plans at every h visited, from `low` until the bisection comes back to an h it knows."""
    visited: set[int] = set()
    h = low
    while h not in visited:
        visited.add(h)
        plans = list(greedy_candidates(problem, h, v, paper_counts(problem)))
        if not plans:  # who can be assigned to whom does not depend on h
            return
        yield from plans
        best = min(plans, key=lambda plan: plan.seconds)
        if imbalance(problem, best.placement) > 0:
            low = h
        else:
            high = h
        h = -(-(low + high) // 2)
