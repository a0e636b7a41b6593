"""Placing the members of a relaxed problem for real: who is hosted by whom, if it can be found.

Members are matched to slots at the least cost, low slots being cheap so that loads stay even. A
host may then end up with more models than one of its members tolerates. Such a host is asked to
take only members that tolerate its load; where that leaves somebody out, it gives up a slot.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment, linprog
from scipy.sparse import csr_array

from tiercut.plan.relax import LARGE, Relaxation, plenty_of_room
from tiercut.plan.sites import Sites

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FORBIDDEN = 1e6
ATTEMPTS = 8
PART_OF_FLEET = 700
"""Members of a large fleet that are placed together."""


class Placed(NamedTuple):
    """Which members go to which hosts, by their positions in a relaxation, and how many of each."""

    member: Ints
    host: Ints
    amount: Ints


def assign(relaxation: Relaxation, sites: Sites) -> Ints | None:
    """An aggregator for every client that keeps all limits, or None if none was found.

    A large fleet is dealt into parts that are each like the whole, and placed part by part.
    """
    if relaxation.single and relaxation.size > LARGE:
        served_by = np.arange(len(sites))
        for part in relaxation.deal(-(-len(relaxation.members) // PART_OF_FLEET)):
            placed = _place_all(part)
            if placed is None:
                return None
            served_by[part.members[placed.member]] = part.hosts[placed.host]
        return served_by
    if len(relaxation.members) == 0:
        return sites.spread([])
    placed = _place_all(relaxation)
    return None if placed is None else _spread(relaxation, sites, placed)


def _place_all(relaxation: Relaxation) -> Placed | None:
    """A placement that keeps all limits; None if none was found."""
    most = plenty_of_room(relaxation.cap, relaxation.copies, int(relaxation.supply.sum()))
    cap, strict = np.minimum(relaxation.cap, most), np.zeros_like(relaxation.cap)
    doubtful: tuple[Ints, Ints, NDArray[np.bool_], Ints] | None = None
    for _ in range(ATTEMPTS):
        placed = _place(relaxation, cap, strict)
        if placed is None:
            if doubtful is None:
                return None
            cap, strict, crowded, load = doubtful
            cap[crowded] = np.maximum(load[crowded] - 1, 1)
            doubtful = None
            continue
        member, host, amount = placed
        hosted = np.bincount(host, amount, len(cap)).astype(np.int64)
        load = 1 + -(-hosted // relaxation.copies)
        astray = relaxation.limit[member, host] < load[host]
        if not astray.any():
            return placed
        crowded = np.zeros(len(cap), dtype=bool)
        crowded[host[astray]] = True
        doubtful = (cap.copy(), strict.copy(), crowded, load)
        strict[crowded] = load[crowded]
    return None


def _spread(relaxation: Relaxation, sites: Sites, placed: Placed) -> Ints:
    members, hosts = relaxation.members[placed.member], relaxation.hosts[placed.host]
    if sites.single:
        served_by = np.arange(len(sites))
        served_by[members] = hosts
        return served_by
    return sites.spread(
        list(zip(members.tolist(), hosts.tolist(), placed.amount.tolist(), strict=True))
    )


def _place(relaxation: Relaxation, cap: Ints, strict: Ints) -> Placed | None:
    """The placement of the least cost; None if not all members find a slot."""
    host, slot = relaxation.slots(cap)
    supply, capacity = relaxation.supply, relaxation.copies[host]
    if capacity.sum() < supply.sum():
        return None
    price: Floats = np.square(slot - 2.0)
    fits = relaxation.limit[:, host] >= np.maximum(slot, strict[host])
    if relaxation.single:
        member, taken = linear_sum_assignment(np.where(fits, price, FORBIDDEN))
        return Placed(member, host[taken], supply) if fits[member, taken].all() else None
    sent = _transport(fits, price, supply, capacity)
    if sent is None:
        return None
    member, taken = sent.nonzero()
    return Placed(member, host[taken], sent[member, taken])


def _transport(fits: NDArray[np.bool_], price: Floats, supply: Ints, capacity: Ints) -> Ints | None:
    """The cheapest way to send every member to slots, many alike at a time."""
    n, s = np.nonzero(fits)
    edges = np.arange(len(n))
    ones = np.ones(len(n))
    leaving = csr_array((ones, (n, edges)), shape=(len(supply), len(n)))
    entering = csr_array((ones, (s, edges)), shape=(len(capacity), len(n)))
    result = linprog(price[s], A_ub=entering, b_ub=capacity, A_eq=leaving, b_eq=supply)
    if result.status != 0:
        return None
    sent = np.zeros(fits.shape, dtype=np.int64)
    sent[n, s] = np.round(result.x).astype(np.int64)
    return sent
