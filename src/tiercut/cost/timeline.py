"""A training round as events: who computes what and sends what, when.

Events form a graph: each starts when the ones before it have ended. The round's length is the end
of its last event, and walking back from there gives the critical path. This is the slow, literal
twin of tiercut.cost.delay, and what the timeline picture is drawn from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from tiercut.cost.delay import Terms, round_terms
from tiercut.cost.placement import Placement
from tiercut.cost.schemes import SchemeCost
from tiercut.cost.workload import Workload
from tiercut.fleet import Fleet
from tiercut.scenario import CostModel

SERVER = -1
"""The server's place among the nodes, which are otherwise the clients' indices."""

Kind = Literal["compute", "send", "radio", "processor", "wait"]


@dataclass(frozen=True, slots=True)
class Event:
    """One thing a node does: it computes, sends to `peer`, is busy, or waits."""

    kind: Kind
    node: int
    peer: int
    client: int
    """Whose model it is for; SERVER where it is for everybody."""
    label: str
    start: float
    end: float
    after: tuple[int, ...] = field(repr=False)
    """The positions of the events it had to wait for."""


class Timeline:
    """Events in the order they were added, each after the ones it depends on."""

    def __init__(self) -> None:
        """Start with nothing, at time 0."""
        self.events: list[Event] = []

    @property
    def end(self) -> float:
        """When the last event ends."""
        return max((event.end for event in self.events), default=0.0)

    def add(
        self,
        kind: Kind,
        node: int,
        label: str,
        seconds: float,
        after: Iterable[int] = (),
        *,
        client: int = SERVER,
        peer: int = SERVER,
    ) -> int:
        """Append an event that starts once all of `after` have ended; returns its position."""
        waits_for = tuple(after)
        start = max((self.events[i].end for i in waits_for), default=0.0)
        self.events.append(
            Event(kind, node, peer, client, label, start, start + float(seconds), waits_for)
        )
        return len(self.events) - 1

    def barrier(self, label: str, after: Iterable[int]) -> int:
        """A moment when everything in `after` is over."""
        return self.add("wait", SERVER, label, 0.0, after)

    def critical_path(self) -> list[int]:
        """The positions of the events that set the end: each waits for the one before it."""
        if not self.events:
            return []
        here = max(range(len(self.events)), key=lambda i: self.events[i].end)
        path = [here]
        while self.events[here].after:
            here = max(self.events[here].after, key=lambda i: self.events[i].end)
            path.append(here)
        return path[::-1]


@dataclass(frozen=True, eq=False)
class _Round:
    """What building a timeline needs to know, and the timeline it grows."""

    placement: Placement
    terms: Terms
    scheme: SchemeCost
    model: CostModel
    timeline: Timeline

    def hosting(self, n: int, *, alone: bool) -> float:
        """How long n's middle layers take, alone or with all others of the same aggregator."""
        return float((self.terms.middle if alone else self.terms.hosting)[n])

    def above(self, n: int) -> str:
        return f"FP+BP {self.placement.cut_layers[n] + 1}..L"

    @property
    def clients(self) -> range:
        return range(len(self.placement.aggregator_of))

    def below(self, direction: str, n: int) -> str:
        return f"{direction} 1..{self.placement.aggregator_layers[n]}"

    def middle(self, direction: str, n: int) -> str:
        h, v = self.placement.aggregator_layers[n], self.placement.cut_layers[n]
        return f"{direction} {h + 1}..{v}"

    def has_middle(self, n: int) -> bool:
        return bool(self.placement.aggregator_layers[n] < self.placement.cut_layers[n])


def round_timeline(
    fleet: Fleet, work: Workload, placement: Placement, scheme: SchemeCost, model: CostModel
) -> Timeline:
    """A whole round: weights down, every batch of every epoch, weights up."""
    plan = _Round(placement, round_terms(fleet, work, placement, scheme), scheme, model, Timeline())
    now = _move_weights(plan, "weights down", (), from_server=True)
    batches = work.batches(fleet)
    for _ in range(work.epochs):
        now = _epoch(plan, batches, now)
    _move_weights(plan, "weights up", (now,), from_server=False)
    return plan.timeline


def batch_timeline(
    fleet: Fleet, work: Workload, placement: Placement, scheme: SchemeCost, model: CostModel
) -> Timeline:
    """One batch alone, from time 0."""
    plan = _Round(placement, round_terms(fleet, work, placement, scheme), scheme, model, Timeline())
    _epoch(plan, 1, plan.timeline.barrier("start", ()))
    return plan.timeline


def _move_weights(plan: _Round, label: str, after: tuple[int, ...], *, from_server: bool) -> int:
    """Everybody fetches or returns its weights, each over its own link; then all go on."""
    moved = []
    for n in plan.clients:
        node, peer = (SERVER, n) if from_server else (n, SERVER)
        seconds = plan.terms.fetch[n]
        moved.append(plan.timeline.add("send", node, label, seconds, after, client=n, peer=peer))
    return plan.timeline.barrier(f"{label} done", moved)


def _epoch(plan: _Round, batches: int, now: int) -> int:
    """`batches` batches after the event `now`; returns the epoch's end."""
    one_batch = _local_loss_batch if plan.scheme.local_loss else _end_to_end_batch
    if plan.model == "network":
        if plan.scheme.local_loss:
            return _pipelined_epoch(plan, batches, now)
        return _steady_batches(plan, batches - 1, one_batch(plan, now))
    for _ in range(batches):
        now = one_batch(plan, now)
    return now


def _steady_batches(plan: _Round, batches: int, now: int) -> int:
    """SFL's batches on a real network, after the first: everybody goes on when its own is back."""
    add, terms = plan.timeline.add, plan.terms
    ends = []
    for n in plan.clients:
        k, mine = int(plan.placement.aggregator_of[n]), now
        for _ in range(batches):
            ready = _forward(plan, n, (mine,), terms.hop[n], alone=True)
            sent = add("send", k, "activations v", terms.uplink[n], (ready,), client=n)
            served = add("compute", SERVER, plan.above(n), terms.served[n], (sent,), client=n)
            returned = add(
                "send", SERVER, "gradients v", terms.uplink[n], (served,), client=n, peer=k
            )
            mine = _backward(plan, n, (returned,), terms.hop[n], alone=True)
        ends.append(mine)
    for k in map(int, np.flatnonzero(plan.placement.hosted > 1)):  # others are as busy as their own
        busy: tuple[tuple[Kind, str, float], ...] = (
            ("processor", "processor busy", terms.processor[k]),
            ("radio", "radio busy", terms.returning_radio[k]),
            ("send", "activations v", terms.uplink_shared[k]),
        )
        for kind, label, seconds in busy:
            if seconds > 0:
                ends.append(_keep_busy(plan, kind, k, label, seconds, batches, now))
    serving = now
    for _ in range(batches):
        serving = _server(plan, (serving,))
    ends.append(serving)
    return plan.timeline.barrier("epoch done", ends)


def _keep_busy(
    plan: _Round, kind: Kind, node: int, label: str, seconds: float, batches: int, now: int
) -> int:
    """What takes a node so long for every batch of everybody it serves."""
    for _ in range(batches):
        now = plan.timeline.add(kind, node, label, seconds, (now,))
    return now


def _forward(plan: _Round, n: int, after: Sequence[int], hop: float, *, alone: bool = False) -> int:
    """Client n's batch until its aggregator holds the activations of layer v."""
    add, k = plan.timeline.add, int(plan.placement.aggregator_of[n])
    done = add("compute", n, plan.below("FP", n), plan.terms.weak[n], after, client=n)
    if k != n:
        done = add("send", n, "activations h", hop, (done,), client=n, peer=k)
    if plan.has_middle(n):
        seconds = plan.hosting(n, alone=alone)
        done = add("compute", k, plan.middle("FP", n), seconds, (done,), client=n)
    return done


def _backward(
    plan: _Round, n: int, after: Sequence[int], hop: float, *, alone: bool = False
) -> int:
    """From the gradient at v until client n has updated its layers 1..h."""
    add, k = plan.timeline.add, int(plan.placement.aggregator_of[n])
    if plan.has_middle(n):
        seconds = 2 * plan.hosting(n, alone=alone)
        after = (add("compute", k, plan.middle("BP", n), seconds, after, client=n),)
    if k != n:
        after = (add("send", k, "gradients h", hop, after, client=n, peer=n),)
    return add("compute", n, plan.below("BP", n), 2 * plan.terms.weak[n], after, client=n)


def _server(plan: _Round, after: Sequence[int]) -> int:
    label = plan.above(int(plan.placement.cut_layers.argmin()))
    return plan.timeline.add("compute", SERVER, label, plan.terms.server, after)


def _local_loss_batch(plan: _Round, now: int) -> int:
    """The paper's batch: all activations reach the server, then everybody goes backward."""
    arrived = []
    for n in plan.clients:
        ready = _forward(plan, n, (now,), plan.terms.hop[n])
        k = int(plan.placement.aggregator_of[n])
        arrived.append(
            plan.timeline.add("send", k, "activations v", plan.terms.uplink[n], (ready,), client=n)
        )
    forward_done = plan.timeline.barrier("forward done", arrived)
    over = [_backward(plan, n, (forward_done,), plan.terms.hop[n]) for n in plan.clients]
    over.append(_server(plan, (forward_done,)))
    return plan.timeline.barrier("batch done", over)


def _end_to_end_batch(plan: _Round, now: int) -> int:
    """SFL's batch: the gradient comes back from the server before anybody goes backward."""
    terms, shares = plan.terms, plan.model == "network"
    hop, uplink = (terms.hop_shared, terms.uplink_shared) if shares else (terms.hop, terms.uplink)
    arrived, over = [], []
    for n in plan.clients:
        ready = _forward(plan, n, (now,), hop[n])
        k = int(plan.placement.aggregator_of[n])
        arrived.append(plan.timeline.add("send", k, "activations v", uplink[n], (ready,), client=n))
    served = _server(plan, (plan.timeline.barrier("forward done", arrived),))
    for n in plan.clients:
        k = int(plan.placement.aggregator_of[n])
        returned = plan.timeline.add(
            "send", SERVER, "gradients v", uplink[n], (served,), client=n, peer=k
        )
        over.append(_backward(plan, n, (returned,), hop[n]))
    return plan.timeline.barrier("batch done", over)


def _pipelined_epoch(plan: _Round, batches: int, now: int) -> int:
    """Local loss on a real network: clients, uplinks and server each go on when they can."""
    aggregators = [int(k) for k in plan.placement.aggregators]
    members: dict[int, list[int]] = {k: [] for k in aggregators}
    for n, k in enumerate(plan.placement.aggregator_of.tolist()):
        members[k].append(n)
    client_free = dict.fromkeys(plan.clients, now)
    uplink_free, radio_free, processor_free = (dict.fromkeys(aggregators, now) for _ in range(3))
    server_free = now
    for _ in range(batches):
        arrived = []
        for k in aggregators:
            busy = (radio_free[k], processor_free[k])
            ready = [_client_batch(plan, n, client_free, busy) for n in members[k]]
            seconds = plan.terms.uplink_shared[k]
            uplink_free[k] = plan.timeline.add(
                "send", k, "activations v", seconds, (*ready, uplink_free[k])
            )
            arrived.append(uplink_free[k])
            if len(members[k]) > 1:  # alone, it is as busy as its own batch
                processor_free[k] = plan.timeline.add(
                    "processor", k, "processor busy", plan.terms.processor[k], (processor_free[k],)
                )
            if plan.terms.radio[k] > 0:
                radio_free[k] = plan.timeline.add(
                    "radio", k, "radio busy", plan.terms.radio[k], (radio_free[k],)
                )
        server_free = _server(plan, (*arrived, server_free))
    free = (client_free, uplink_free, radio_free, processor_free)
    ends = (*(end for ends in free for end in ends.values()), server_free)
    return plan.timeline.barrier("epoch done", ends)


def _client_batch(plan: _Round, n: int, client_free: dict[int, int], busy: tuple[int, ...]) -> int:
    """One batch of client n below the cut; returns the end of its forward half."""
    ready = _forward(plan, n, (client_free[n], *busy), plan.terms.hop[n], alone=True)
    client_free[n] = _backward(plan, n, (ready,), plan.terms.hop[n], alone=True)
    return ready
