"""The paper's greedy assignment: clients join, strongest first, the group where it hurts least.

The strongest clients aggregate. The others come in order of falling throughput, and each joins the
aggregator k whose group would then have the smallest delay T(k):

    paper     T_FP + T_BP of the group, eq. (d1) and (d2) over its members
    network   the group's period: its slowest chain, or its busiest link where that takes longer;
              with barriers where the gradient comes back from the server (Multihop)

A client that no aggregator may serve or reach serves itself, and so becomes one more aggregator.

Many numbers of aggregators are tried at once. Array shapes: R numbers of aggregators (rows),
A aggregators (columns), P parts of a batch that end in a barrier.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tiercut.cost import Placement
from tiercut.fleet import Floats, Ints
from tiercut.plan.candidates import Candidate, fastest, priced
from tiercut.plan.problem import Problem, Wishes
from tiercut.plan.solution import Solution

ROWS_AT_ONCE = 64
"""Enough to keep NumPy busy; more would only delay the first candidates of a large fleet."""


def aggregator_counts(problem: Problem, most: int, step: int = 1) -> Sequence[int]:
    """How many aggregators to try: 1 to `most` in steps, or just the number the user fixed."""
    fixed = problem.wishes.aggregators
    return range(1, most + 1, step) if fixed is None else [fixed]


def greedy_candidates(
    problem: Problem, h: int, v: int, counts: Sequence[int]
) -> Iterator[Candidate]:
    """The greedy plan for each number of aggregators in `counts`, which ascend."""
    order = strongest_first(problem)
    exactly = problem.wishes.aggregators
    for start in range(0, len(counts), ROWS_AT_ONCE):
        for aggregator_of in assign(problem, h, v, order, counts[start : start + ROWS_AT_ONCE]):
            placement = Placement.three_tiers(h, v, aggregator_of)
            if exactly is None or len(placement.aggregators) == exactly:
                yield priced(problem, placement)


def fastest_greedy(
    problem: Problem, candidates: Iterable[Candidate], time_limit: float | None
) -> Solution:
    """The fastest of greedy candidates."""
    best = fastest(candidates, time_limit=time_limit, otherwise=why_no_plan(problem))
    return Solution(best.placement)


def why_no_plan(problem: Problem) -> str:
    """What to say without a candidate; only a fixed number of aggregators can leave none."""
    return (
        f"the number of aggregators is fixed to {problem.wishes.aggregators}, and greedy assignment"
        f" finds no such plan that keeps to the fleet's links, the allowed aggregators and the"
        f" forbidden pairs; ask for another number (--lambda) or forbid less"
    )


def strongest_first(problem: Problem) -> Ints:
    """All clients in the order in which they are made aggregators.

    Those who may serve others come first, then those who would serve only themselves; both by
    falling throughput, and equals by falling rate to the server, so that no client's index decides.
    """
    return np.lexsort((*_weakness(problem), ~_willing(problem)))


def assign(problem: Problem, h: int, v: int, order: Ints, counts: Sequence[int]) -> Ints:
    """Who serves whom: in row i the first counts[i] clients of `order` aggregate; counts ascend."""
    clients = len(problem.fleet)
    aggregating = np.array(counts)
    groups = _Groups(problem, h, v, order[: counts[-1]], aggregating)
    rank = np.full(clients, clients)
    rank[order] = np.arange(len(order))
    served_by = np.tile(np.arange(clients), (len(counts), 1))
    for n in np.lexsort(_weakness(problem)):
        rows = int(np.searchsorted(aggregating, rank[n], side="right"))
        if rows:  # the rows in which n does not aggregate
            served_by[:rows, n] = groups.place(int(n), rows)
    return served_by


def _weakness(problem: Problem) -> tuple[Floats, Floats]:
    """Keys that sort clients by falling throughput, then by falling rate to the server."""
    return -problem.fleet.to_server, -problem.fleet.throughput


def _willing(problem: Problem) -> NDArray[np.bool_]:
    """Which clients may serve others."""
    allowed = problem.wishes.allowed
    willing = np.full(len(problem.fleet), allowed is None)
    willing[list(allowed or ())] = True
    return willing


class _Groups:
    """Growing groups, one per aggregator (column), for every number of aggregators (row)."""

    def __init__(self, problem: Problem, h: int, v: int, aggregators: Ints, counts: Ints) -> None:
        fleet, work, scheme = problem.fleet, problem.work, problem.scheme
        self.aggregators, self.links = aggregators, fleet.links
        self.local_loss, self.network = scheme.local_loss, problem.model == "network"
        self.pipelined = self.local_loss and self.network
        # With barriers on shared radios, everybody's transfer waits for the whole group's.
        self.waits = self.network and not self.local_loss and fleet.links.shared
        self.weak = work.forward(1, h) / fleet.throughput
        self.sending = work.activations(h)
        self.hosting = work.forward(h + 1, v) / fleet.throughput[aggregators]
        self.uplink = work.upload(v, scheme) / fleet.to_server[aggregators]
        self.server = len(fleet) * work.above(v, scheme) / fleet.server_throughput
        self.open = np.arange(len(aggregators)) < counts[:, None]
        self.open &= _willing(problem)[aggregators]
        self.forbidden = _partners(problem.wishes)
        # A chain computes layers 1..h three times over and uses the link twice; a forward pass
        # computes once, a backward pass twice, and each uses the link once.
        self.passes = np.array([3.0] if self.pipelined else [1.0, 2.0])[:, None, None]
        self.hops = 2.0 if self.pipelined else 0.0 if self.waits else 1.0
        # The state: models hosted, link seconds of all members, slowest member but the aggregator.
        self.models = np.ones(self.open.shape)
        self.sent = np.zeros(self.open.shape)
        self.slowest = np.zeros((len(self.passes), *self.open.shape))

    def place(self, n: int, rows: int) -> Ints:
        """Let client n join the best group of each of the first `rows` rows; returns whose."""
        hop, reachable = self._hop(n)
        models = self.models[:rows] + 1
        sent = self.sent[:rows] + hop
        slowest = np.maximum(self.slowest[:, :rows], self.passes * self.weak[n] + self.hops * hop)
        delays = self._delays(models, sent, slowest)
        delays[~(self.open[:rows] & reachable)] = np.inf
        best = delays.argmin(axis=1)
        placed = np.flatnonzero(np.isfinite(delays[np.arange(rows), best]))
        at = placed, best[placed]
        self.models[at] = models[at]
        self.sent[at] = sent[at]
        self.slowest[:, *at] = slowest[:, *at]
        chosen = np.full(rows, n)
        chosen[placed] = self.aggregators[best[placed]]
        return chosen

    def _hop(self, n: int) -> tuple[Floats, NDArray[np.bool_]]:
        """Seconds of n's activations to each aggregator, and which of them it may join."""
        rates = self.links.block(np.array([n]), self.aggregators)[0]
        reachable = rates > 0
        hop = np.divide(self.sending, rates, out=np.zeros(len(rates)), where=reachable)
        if n in self.forbidden:
            reachable &= ~np.isin(self.aggregators, self.forbidden[n])
        return hop, reachable

    def _delays(self, models: Floats, sent: Floats, slowest: Floats) -> Floats:
        """T(k) of groups in the given state."""
        own = self.passes * self.weak[self.aggregators]
        slowest = np.maximum(own, slowest + sent if self.waits else slowest)
        hosting = models * self.hosting
        uplink = models * self.uplink if self.network else self.uplink
        if self.pipelined:
            # The server's period is the same for all groups, and would only hide their differences.
            busy = uplink + 2 * sent if self.links.shared else uplink
            busy = np.maximum(busy, own[0] + 3 * hosting)
            period: Floats = np.maximum(slowest[0] + 3 * self.hosting, busy)
            return period
        forward: Floats = slowest[0] + hosting + uplink
        backward: Floats = slowest[1] + 2 * hosting
        if self.local_loss:
            return forward + np.maximum(self.server, backward)
        return forward + self.server + uplink + backward


def _partners(wishes: Wishes) -> dict[int, list[int]]:
    """For every client in a forbidden pair, whom it must not be paired with."""
    partners = defaultdict(list)
    for first, second in wishes.forbidden:
        partners[first].append(second)
        partners[second].append(first)
    return partners
