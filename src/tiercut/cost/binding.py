"""The sentence a user needs to know what to upgrade: what holds a round back, and by how much."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from tiercut.cost.delay import (
    Floats,
    Terms,
    pipeline_ends,
    pipeline_periods,
    returning_periods,
    round_seconds,
    round_terms,
)
from tiercut.cost.placement import Placement
from tiercut.cost.schemes import SchemeCost
from tiercut.cost.workload import Workload
from tiercut.fleet import Fleet
from tiercut.scenario import CostModel
from tiercut.units import show_rate, show_time

Parts = dict[str, float]
"""Seconds of a round by the device or link that spends them."""


def binding(
    fleet: Fleet, work: Workload, placement: Placement, scheme: SchemeCost, model: CostModel
) -> str:
    """Which client, link or the server takes the largest part of the round, as a sentence."""
    terms = round_terms(fleet, work, placement, scheme)
    seconds = round_seconds(fleet, work, placement, scheme, model)
    batches = work.batches(fleet)
    name = _Names(fleet, placement)
    if scheme.local_loss and model == "network":
        per_epoch = _pipelined_parts(terms, name, batches)
    elif model == "network":
        first = _barrier_parts(terms, name, scheme, model)
        per_epoch = _sum(first, _returning_stage(terms, name), times=batches - 1)
    else:
        per_epoch = _sum({}, _barrier_parts(terms, name, scheme, model), times=batches)
    parts = {what: work.epochs * spent for what, spent in per_epoch.items()}
    slowest = int(np.argmax(terms.fetch))
    parts[f"moving weights over {name.uplink(slowest)}"] = 2 * float(terms.fetch[slowest])
    what, spent = max(parts.items(), key=lambda part: part[1])
    share = min(1.0, spent / seconds.round)
    return f"{what} holds the round back: {show_time(spent)}, {share:.0%} of the round"


class _Names:
    """How devices and links are called in the sentence."""

    def __init__(self, fleet: Fleet, placement: Placement) -> None:
        self.fleet, self.placement = fleet, placement

    def aggregator(self, n: int) -> int:
        return int(self.placement.aggregator_of[n])

    def client(self, n: int) -> str:
        h = self.placement.aggregator_layers[n]
        return f"client {self.fleet.names[n]!r} computing layers 1..{h}"

    def host(self, n: int) -> str:
        k = self.aggregator(n)
        h, v = self.placement.aggregator_layers[n], self.placement.cut_layers[n]
        models = self.placement.hosted[k]
        return (
            f"aggregator {self.fleet.names[k]!r} computing layers {h + 1}..{v} for {models}"
            f" model{'s' if models > 1 else ''}"
        )

    def hop(self, n: int) -> str:
        k = self.aggregator(n)
        rate = self.fleet.links.pairs(np.array([n]), np.array([k]))[0]
        speed = f" ({show_rate(rate)})" if n != k else ""
        return f"the link of {self.fleet.names[n]!r} to {self.fleet.names[k]!r}{speed}"

    def uplink(self, k: int) -> str:
        rate = show_rate(self.fleet.to_server[k])
        return f"the link of {self.fleet.names[k]!r} to the server ({rate})"


def _chain(name: _Names, n: int, share: float, weak: Floats, hosting: Floats) -> Parts:
    """A share of client n's computing below the cut."""
    return {name.client(n): share * float(weak[n]), name.host(n): share * float(hosting[n])}


def _barrier_parts(terms: Terms, name: _Names, scheme: SchemeCost, model: CostModel) -> Parts:
    """One batch with barriers: the slowest forward pass, then the slowest backward pass."""
    shares = model == "network"
    hop, uplink = (terms.hop_shared, terms.uplink_shared) if shares else (terms.hop, terms.uplink)
    parts: Parts = defaultdict(float)

    def spend(n: int, passes: float) -> None:
        for what, seconds in _chain(name, n, passes, terms.weak, terms.hosting).items():
            parts[what] += seconds
        parts[name.hop(n)] += float(hop[n])

    first = int(np.argmax(terms.weak + hop + terms.hosting + uplink))
    spend(first, 1)
    parts[name.uplink(name.aggregator(first))] += float(uplink[first])
    backward = 2 * terms.hosting + hop + 2 * terms.weak
    if not scheme.local_loss:
        last = int(np.argmax(backward + uplink))
        spend(last, 2)
        parts[name.uplink(name.aggregator(last))] += float(uplink[last])
        parts["the server"] += terms.server
    elif terms.server > backward.max():
        parts["the server"] += terms.server
    else:
        spend(int(np.argmax(backward)), 2)
    return parts


def _sum(parts: Parts, more: Parts, *, times: int) -> Parts:
    """`parts`, and so many times `more`."""
    return {what: parts.get(what, 0.0) + times * more.get(what, 0.0) for what in {**parts, **more}}


def _returning_stage(terms: Terms, name: _Names) -> Parts:
    """What sets the pace of batches whose gradients come back from the server."""
    periods = returning_periods(terms)
    n = int(np.argmax(periods))
    k = name.aggregator(n)
    if periods[n] == terms.there_and_back[n]:
        parts = _chain(name, n, 3, terms.weak, terms.middle)
        above = {name.uplink(k): 2 * float(terms.uplink[n]), "the server": float(terms.served[n])}
        return {**parts, name.hop(n): 2 * float(terms.hop[n]), **above}
    return _shared_stage(terms, name, k, float(periods[n]))


def _pipelined_parts(terms: Terms, name: _Names, batches: int) -> Parts:
    """One epoch of a pipeline: its slowest stage per batch, and the last batch's way through."""
    client, period = pipeline_periods(terms)
    below, through = pipeline_ends(terms, batches)
    n = int(np.argmax(np.maximum(below, through)))
    if below[n] >= through[n]:
        return _sum({}, _stage(terms, name, n, client[n]), times=batches)
    way = {
        **_chain(name, n, 1, terms.weak, terms.middle),
        name.hop(n): float(terms.hop[n]),
        name.uplink(name.aggregator(n)): float(terms.uplink_shared[n]),
        "the server": terms.server,
    }
    return _sum(way, _stage(terms, name, n, period[n]), times=batches - 1)


def _stage(terms: Terms, name: _Names, n: int, period: float) -> Parts:
    """The stage of client n's pipeline that takes `period` seconds a batch."""
    k = name.aggregator(n)
    if period == terms.chain[n]:
        parts = _chain(name, n, 3, terms.weak, terms.middle)
        return {**parts, name.hop(n): 2 * float(terms.hop[n])}
    return _shared_stage(terms, name, k, period)


def _shared_stage(terms: Terms, name: _Names, k: int, period: float) -> Parts:
    """What takes `period` seconds for a batch of everybody whom aggregator k serves."""
    if period == terms.processor[k]:
        return _chain(name, k, 3, terms.weak, terms.hosting)
    if period == terms.server:
        return {"the server": terms.server}
    if period == terms.uplink_shared[k]:
        return {name.uplink(k): period}
    return {f"the radio of {name.fleet.names[k]!r}": period}
