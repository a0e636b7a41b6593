"""Can any plan keep these thresholds? Tests that only ever say no when the answer is no.

Clients that may host themselves become aggregators: in the relaxed problem that never hurts. The
rest, the members, must find a place. Three tests, the first cheap, the others stronger and dearer:

1. Counting: an aggregator takes at most cap_k models, an h-index of its column of limits.
2. Slots: aggregator k offers slots 2..cap_k, and a member may take slot s only if its limit there
   is at least s. All members must be matched. For sites that stand for several clients.
3. Prices: whatever the members are worth, an aggregator can collect no more than its best group;
   if all best groups together are worth less than all members, somebody has no place. This is
   Lagrangian duality, and at its best as strong as the linear program over all possible groups,
   stronger than slots. For sites of one client.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from tiercut.plan.limits import Box, Limits

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LARGE = 1_000_000
"""More pairs of members and hosts than this are counted part by part."""
PART = 64

HOPELESS = 0.05
"""Prices at which hosts have room for this share of the members too many are far from a proof."""

SORTED_ROWS = 128
"""Up to so many members a column is sorted faster than its levels are counted."""


@dataclass(frozen=True, eq=False)
class Relaxation:
    """What survives the counting test: who must be placed, where, and up to which load."""

    members: Ints
    hosts: Ints
    find_limit: Callable[[Ints, Ints], Floats]
    cap: Ints
    """The most models each host may host, whoever its members are."""
    supply: Ints
    """How many clients each member site stands for."""
    copies: Ints
    """How many clients each host site stands for."""
    is_a_guess: bool
    """Whether hosts or caps were only guessed, so that tests 2 and 3 would prove nothing."""

    @property
    def size(self) -> int:
        """How many pairs there are."""
        return len(self.members) * len(self.hosts)

    @cached_property
    def limit(self) -> Floats:
        """limit[n, k]: how many models hosts[k] may host while members[n] is one of them.

        Neither rounded down nor cut off at the host's cap.
        """
        return self.find_limit(self.members, self.hosts)

    def deal(self, parts: int) -> list[Relaxation]:
        """The same question for each of several parts of the fleet, room dealt out evenly."""
        order = np.argsort(-self.cap, kind="stable")
        return [
            Relaxation(
                self.members[i::parts],
                self.hosts[order[i::parts]],
                self.find_limit,
                self.cap[order[i::parts]],
                self.supply[i::parts],
                self.copies[order[i::parts]],
                is_a_guess=True,
            )
            for i in range(parts)
        ]

    @cached_property
    def single(self) -> bool:
        """Whether every site in it is one client."""
        return bool((self.supply == 1).all() and (self.copies == 1).all())

    def slots(self, cap: Ints) -> tuple[Ints, Ints]:
        """All slots as (position of the host, slot number from 2 to its cap)."""
        host = np.repeat(np.arange(len(cap)), cap - 1)
        first = np.cumsum(cap - 1) - (cap - 1)
        return host, np.arange(len(host)) - first[host] + 2


def relax(limits: Limits, seconds: float, box: Box) -> Relaxation | None:
    """The relaxed problem of finishing within `seconds` and `box`; None if counting refutes it."""
    theta = limits.ceiling(seconds, box)[0]
    if theta < box.low[0]:
        return None
    budgets = limits.budgets(seconds, box)
    own = limits.own(budgets, theta)
    members, hosts = (own < 1).nonzero()[0], (own >= 2).nonzero()[0]
    supply, copies, most = limits.sites.count[members], limits.sites.count[hosts], own[hosts]
    if copies @ (most - 1) < supply.sum():
        return None
    if len(members) * len(hosts) > LARGE:
        return _relax_in_parts(limits, budgets, most, members, hosts)
    limit = limits.pairs(budgets, members, hosts)
    if len(members) and limit.max(axis=1, initial=0).min() < 2:
        return None
    cap = _caps(limit, supply, most)
    if copies @ (cap - 1) < supply.sum():
        return None
    return Relaxation(
        members, hosts, lambda _members, _hosts: limit, cap, supply, copies, is_a_guess=False
    )


def _relax_in_parts(
    limits: Limits, budgets: Floats, own: Floats, members: Ints, hosts: Ints
) -> Relaxation | None:
    """The counting test of a large fleet: most hosts fill up long before the last member."""
    supply, copies = limits.sites.count[members], limits.sites.count[hosts]
    plenty = plenty_of_room(own, copies, int(supply.sum()))
    for top in dict.fromkeys((plenty, int(min(own.max(), supply.sum() + 1)))):
        most = np.minimum(own, top).astype(np.int64)
        cap = _caps_in_parts(limits, budgets, members, hosts, most)
        if copies @ (cap - 1) >= supply.sum():
            break
    else:
        return None
    homeless = members
    for part in _parts(hosts):
        limit = limits.pairs(budgets, homeless, hosts[part], remember=False)
        homeless = homeless[limit.max(axis=1) < 2]
        if len(homeless) == 0:
            break
    if len(homeless):
        return None

    def find_limit(members: Ints, hosts: Ints) -> Floats:
        return limits.pairs(budgets, members, hosts)

    is_a_guess = bool((most < own).any())
    return Relaxation(members, hosts, find_limit, cap, supply, copies, is_a_guess)


def plenty_of_room(most: NDArray[Any], copies: Ints, members: int) -> int:
    """A load at which the hosts together have room to spare: higher ones need not be looked at."""
    top, room = 1, 0
    while room < 3 * members and (more := int(copies @ (most > top))):
        top, room = top + 1, room + more
    return max(top, 2)


def _caps_in_parts(limits: Limits, budgets: Floats, members: Ints, hosts: Ints, most: Ints) -> Ints:
    """As _caps, up to the loads `most`; a host that has reached its own is not asked again."""
    supply = limits.sites.count[members]
    counted = np.zeros((int(most.max()) + 1, len(hosts)))
    pending = np.arange(len(hosts))
    for part in _parts(members):
        limit = limits.pairs(budgets, members[part], hosts[pending], remember=False)
        for c in range(2, len(counted)):
            counted[c, pending] += supply[part] @ (limit >= c)
        pending = pending[counted[most[pending], pending] < most[pending] - 1]
        if len(pending) == 0:
            break
    levels = np.arange(len(counted))[:, None]
    reached = (counted >= levels - 1) & (levels <= most) & (levels >= 2)
    cap: Ints = np.maximum(1, (reached * levels).max(axis=0))
    return cap


def _parts(sites: Ints) -> Iterator[slice]:
    """Slices that are small enough to stay in the processor's cache."""
    for start in range(0, len(sites), PART):
        yield slice(start, start + PART)


def _caps(limit: Floats, supply: Ints, own: Floats) -> Ints:
    """For each host the largest c with at least c - 1 members whose limit there is c or more."""
    rows = len(limit)
    if rows <= SORTED_ROWS and supply.sum() == rows:
        best = np.sort(limit, axis=0)  # the i-th from below is one of rows - i members
        cap = 1 + (best >= np.arange(rows + 1, 1, -1)[:, None]).sum(axis=0)
    else:
        cap = np.ones(limit.shape[1], dtype=np.int64)
        for c in range(2, int(min(own.max(initial=1), supply.sum() + 1)) + 1):
            enough = supply @ (limit >= c) >= c - 1
            if not enough.any():
                break
            cap[enough] = c
    most: Ints = np.minimum(cap, own).astype(np.int64)
    return most


def relax_with_number(limits: Limits, seconds: float, box: Box, wanted: int) -> Relaxation | None:
    """Exactly `wanted` aggregators: the ones with the largest caps must have room for everybody."""
    theta = limits.ceiling(seconds, box)[0]
    if theta < box.low[0]:
        return None
    budgets = limits.budgets(seconds, box)
    own = limits.own(budgets, theta)
    everybody = np.arange(len(own))
    able = np.flatnonzero(own >= 1)
    limit = np.minimum(limits.pairs(budgets, everybody, able), own[able])
    limit[able, np.arange(len(able))] = 0  # hosting oneself is not hosting another
    homeless = limit.max(axis=1, initial=0) < 2
    must = homeless[able]
    if len(able) < wanted or must.sum() > wanted or (own[homeless] < 1).any():
        return None
    cap = _caps(limit, limits.sites.count, own[able])
    chosen = np.sort(np.lexsort((-cap, ~must))[:wanted])
    if cap[chosen].sum() < len(own):
        return None
    members = np.delete(everybody, able[chosen])
    of_chosen = limit[np.ix_(members, chosen)]
    return Relaxation(
        members,
        able[chosen],
        lambda _members, _hosts: of_chosen,
        cap[chosen],
        np.ones(len(members), dtype=np.int64),
        np.ones(wanted, dtype=np.int64),
        is_a_guess=True,
    )


def slots_suffice(relaxation: Relaxation) -> bool:
    """Test 2: whether all members can be sent to slots, many alike at a time."""
    if relaxation.is_a_guess or len(relaxation.members) == 0:
        return True
    supply, copies, cap = relaxation.supply, relaxation.copies, relaxation.cap
    plenty = plenty_of_room(cap, copies, int(supply.sum()))
    for top in dict.fromkeys((plenty, int(cap.max()))):
        host, slot = relaxation.slots(np.minimum(cap, top))
        fits = relaxation.limit[:, host] >= slot
        if _flow(fits, supply, copies[host]) == supply.sum():
            return True
    return False


def _flow(fits: NDArray[np.bool_], supply: Ints, capacity: Ints) -> int:
    """The most members that can be sent to slots."""
    members, slots = fits.shape
    source, sink = members + slots, members + slots + 1
    n, s = np.nonzero(fits)
    tail = np.concatenate([n, np.full(members, source), members + np.arange(slots)])
    head = np.concatenate([members + s, np.arange(members), np.full(slots, sink)])
    room = np.concatenate([supply[n], supply, capacity]).astype(np.int32)
    graph = csr_array((room, (tail, head)), shape=(sink + 1, sink + 1))
    return int(maximum_flow(graph, source, sink).flow_value)


@dataclass(eq=False)
class Prices:
    """What each site is worth as a member; good prices for one question are good for the next."""

    worth: Floats

    def refute(self, relaxation: Relaxation, iterations: int) -> tuple[bool, int]:
        """Test 3: whether prices were found that prove that not everybody has a place.

        Also says how many iterations that took; prices far from a proof are improved only once.
        """
        if relaxation.is_a_guess or len(relaxation.members) == 0 or not relaxation.single:
            return False, 0
        members, cap, count = relaxation.members, relaxation.cap, len(relaxation.members)
        limit = np.minimum(relaxation.limit, cap).transpose()
        places = np.arange(1, cap.max())[:, None, None]
        fits = limit >= places + 1
        worth = self.worth[members]
        if worth.sum() <= 0:
            worth = np.ones(count)
        worth *= count / worth.sum()
        steps = 0
        while steps < iterations:
            steps += 1
            earned, wanted_by = _best_groups(worth, fits, places)
            shortfall = count - earned
            # Too much wanted: cheaper than needed, so worth less; wanted by nobody: worth more.
            slope = 1.0 - wanted_by
            size = float(slope @ slope)
            if shortfall > 1e-6 * count or size == 0:
                break
            step = 0.7 * (0.02 * count - shortfall) / size
            worth = np.maximum(0.0, worth + step * slope)
            worth *= count / worth.sum()
            if shortfall < -HOPELESS * count:
                break
        self.worth[members] = worth
        return shortfall > 1e-6 * count, steps


def _best_groups(worth: Floats, fits: NDArray[np.bool_], places: Ints) -> tuple[float, Floats]:
    """What all hosts earn with their best groups, and how many groups each member is in.

    fits[i, k, n] says that member n tolerates a group of places[i] members on host k.
    """
    order = np.argsort(-worth, kind="stable")
    taken = fits.take(order, axis=2)
    taken &= np.cumsum(taken, axis=2) <= places
    earned = taken @ worth[order]
    best = earned.argmax(axis=0)
    wanted_by = np.empty(len(worth))
    wanted_by[order] = taken[best, np.arange(len(best))].sum(axis=0)
    return float(earned.max(axis=0).sum()), wanted_by
