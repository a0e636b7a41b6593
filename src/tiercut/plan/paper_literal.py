"""The paper's Algorithm 2 as printed, slips and all; for tests and for the record.

1. maxAggr bounds the models that one strong client can host, and is used to bound the number of
   aggregators. It is often 0 at h = 2, and then no lambda is tried.
2. The loop ends once T_aggr - T_clients <= delta, so that h never becomes smaller; at h = v-1 it
   could run forever. Here it stops at an h that it has visited.
3. The sum in maxAggr starts at h, though layer h is on the weak side; and eq. (d1) multiplies the
   upload of G_v by x_{n,k,v+1}, which is 0 because no aggregator holds layer v+1.
4. delta = 0.5 has no unit; it is read as seconds per batch.

Two readings were needed: x_{n,k,h} in T_aggr is taken as x_{n,k,h+1}, since no aggregator holds
layer h and T_aggr would always be 0; and T_aggr is 0 where no aggregators were tried. All decisions
follow the paper's own equations, whatever cost model the plan is priced with afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tiercut.models.profile import Profile
from tiercut.plan.candidates import Candidate, fastest
from tiercut.plan.greedy import greedy_candidates, why_no_plan
from tiercut.plan.paper import imbalance, layers_below
from tiercut.plan.problem import Problem
from tiercut.plan.solution import Solution

DELTA = 0.5
"""Seconds per batch."""
PERCENT = 100
"""Lambda runs in steps of one percent."""

NO_LAMBDA = (
    "Algorithm 2 as printed tries no number of aggregators for this problem and stores no plan: its"
    " maxAggr = floor((gamma - 1) F(1,h) / F(h,v)), which bounds the models that one strong client"
    " can host, is used to bound the number of aggregators and is too small; use --solver paper,"
    " which repairs this, or --solver exact"
)


def solve(problem: Problem, *, time_limit: float | None = None) -> Solution:
    """The plan that Algorithm 2 returns as printed, if it returns one."""
    tried = any(_counts(problem, layers[0], v) for v, layers in layers_below(problem).items())
    otherwise = why_no_plan(problem) if tried else NO_LAMBDA
    return Solution(
        fastest(_candidates(problem), time_limit=time_limit, otherwise=otherwise).placement
    )


def max_aggregators(problem: Problem, h: int, v: int) -> int:
    """The printed maxAggr, and at most all clients."""
    throughput, work = problem.fleet.throughput, problem.work
    gamma = throughput.max() / throughput.min()
    clients, hosted_work = len(problem.fleet), work.forward(h, v)
    if hosted_work == 0:
        return clients
    return min(clients, int((gamma - 1) * work.forward(1, h) / hosted_work))


def _candidates(problem: Problem) -> Iterator[Candidate]:
    for v, layers in layers_below(problem).items():
        yield from _search(_as_printed(problem, v), v, layers)


def _as_printed(problem: Problem, v: int) -> Problem:
    """The problem that the printed equations describe: uploading G_v takes no time (slip 3)."""
    profile = problem.work.profile
    layers = [
        layer.model_copy(update={"activation_bytes": 0.0}) if layer.index == v else layer
        for layer in profile.layers
    ]
    free_upload = Profile(name=profile.name, parameters=profile.parameters, layers=tuple(layers))
    work = replace(problem.work, profile=free_upload)
    return replace(problem, work=work, model="paper")


def _search(problem: Problem, v: int, layers: list[int]) -> Iterator[Candidate]:
    """The printed while loop for one cut; `layers` are the h that may be chosen."""
    visited: set[int] = set()
    h = layers[0]
    while h in layers and h not in visited:
        visited.add(h)
        plans = list(greedy_candidates(problem, h, v, _counts(problem, h, v)))
        yield from plans
        best = min(plans, key=lambda plan: plan.seconds, default=None)
        if best is None or imbalance(problem, best.placement) <= DELTA:
            return
        h = -(-(h + v - 1) // 2)


def _counts(problem: Problem, h: int, v: int) -> list[int]:
    """ceil(lambda N) for lambda = 1 % to maxAggr / N; of these only the number the user fixed."""
    clients, fixed = len(problem.fleet), problem.wishes.aggregators
    steps = PERCENT * max_aggregators(problem, h, v) // clients
    counts = sorted({-(-step * clients // PERCENT) for step in range(1, steps + 1)})
    return [count for count in counts if fixed in (None, count)]
