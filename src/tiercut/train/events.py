"""What happens to the fleet before a round: devices slow down, links change, clients leave.

Clients are drawn in the order of their names, so that their numbering changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tiercut.errors import InputError, nearest
from tiercut.fleet import Access, Between, Fleet, Ints, Links
from tiercut.scenario import Event
from tiercut.seeds import Seeds

Stream = np.random.Generator


def check_events(events: Sequence[Event], fleet: Fleet, seeds: Seeds) -> None:
    """Refuse events that would stop a run in its middle."""
    for event in events:
        for name in event.clients or ():
            if name not in fleet.names:
                raise InputError(
                    f"the event before round {event.round} names the client {name!r}, which is not"
                    f" in the fleet{nearest(name, fleet.names)}"
                )
    for number in sorted({event.round for event in events}):
        fleet = changed_fleet(fleet, events, number, seeds)


def changed_fleet(fleet: Fleet, events: Sequence[Event], number: int, seeds: Seeds) -> Fleet:
    """The fleet after what happens before round `number`; the same object where nothing does."""
    for index, event in enumerate(events):
        if event.round == number:
            fleet = _after(fleet, event, seeds.stream("event", index))
    return fleet


def share_of(share: float, count: int) -> int:
    """How many a share of `count` is, rounded up; 30 % of ten are three, whatever floats say."""
    return math.ceil(share * count - 1e-9)


def _after(fleet: Fleet, event: Event, stream: Stream) -> Fleet:
    order = np.array(sorted(range(len(fleet)), key=fleet.names.__getitem__), dtype=np.int64)
    if event.clients is not None:  # those who have left already are out of reach
        hit = np.array([n for n in order if fleet.names[n] in event.clients], dtype=np.int64)
    else:
        assert event.share is not None
        hit = stream.permutation(order)[: share_of(event.share, len(order))]
    if event.slow_down is not None:
        throughput = fleet.throughput.copy()
        throughput[hit] /= event.slow_down
        fleet = replace(fleet, throughput=throughput)
    if event.rates is not None:
        fleet = _with_rates(fleet, hit, order, event.rates, stream)
    return _without(fleet, hit, event.round) if event.leave else fleet


def _with_rates(
    fleet: Fleet, hit: Ints, order: Ints, rates: tuple[float, float], stream: Stream
) -> Fleet:
    to_server = fleet.to_server.copy()
    to_server[hit] = stream.uniform(*rates, len(hit))
    return replace(fleet, to_server=to_server, links=_links(fleet.links, hit, order, rates, stream))


def _links(
    links: Links, hit: Ints, order: Ints, rates: tuple[float, float], stream: Stream
) -> Links:
    if isinstance(links, Access):
        access = links.rates.copy()
        access[hit] = stream.uniform(*rates, len(hit))
        return Access(access)
    assert isinstance(links, Between)
    matrix = links.rates.copy()
    for n in hit:
        new = stream.uniform(*rates, len(order))
        linked = matrix[n, order] > 0  # there is no link where there was none
        matrix[n, order[linked]] = matrix[order[linked], n] = new[linked]
    return Between(matrix)


def _without(fleet: Fleet, hit: Ints, number: int) -> Fleet:
    kept = np.setdiff1d(np.arange(len(fleet)), hit)
    if len(kept) == 0:
        raise InputError(
            f"nobody is left after the event before round {number}; lower its share, or name fewer"
            f" clients"
        )
    return fleet.subset(kept)
