"""The fleet as the exact planner sees it: sites, each standing for one or more identical clients.

With access rates, clients of equal throughput and rates are interchangeable, and a million devices
of a hundred kinds are a hundred sites. With a matrix of rates every client is a site of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiercut.errors import InputError
from tiercut.fleet import Access
from tiercut.plan.problem import Problem

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_REMEMBERED = 600_000_000
"""Bytes of intermediate results that are kept for the next question."""

FAR = 1e200
"""Seconds per byte where there is no link: too many for any round, and still a finite number."""

MOST_SITES = 20_000
"""All pairs of sites are looked at; beyond this many their matrix would not fit in memory."""


Key = tuple[tuple[int, int], bytes, bytes]


class Blocks:
    """Intermediate results; the oldest are forgotten when they take too much memory."""

    def __init__(self) -> None:
        """Start with none."""
        self._kept: dict[Key, Floats] = {}
        self._bytes = 0

    def get(self, key: Key, compute: Callable[[], Floats]) -> Floats:
        """What `compute` gives, now or the last time."""
        if key not in self._kept:
            block = compute()
            self._bytes += block.nbytes
            while self._kept and self._bytes > MOST_REMEMBERED:
                self._bytes -= self._kept.pop(next(iter(self._kept))).nbytes
            self._kept[key] = block
        return self._kept[key]


@dataclass(frozen=True, eq=False)
class Sites:
    """One entry per site; `clients[i]` are the clients that site i stands for."""

    problem: Problem
    clients: tuple[Ints, ...]
    first: Ints
    """A client of each site, to look its numbers up by."""
    count: Ints
    """How many clients each site stands for."""
    may_host: NDArray[np.bool_]
    """Whether clients of the site may aggregate for others."""
    _blocks: Blocks = field(default_factory=Blocks)

    def __len__(self) -> int:
        return len(self.first)

    @property
    def single(self) -> bool:
        """Whether every site is one client."""
        return len(self) == len(self.problem.fleet)

    @property
    def throughput(self) -> Floats:
        """Per site."""
        return self.problem.fleet.throughput[self.first]

    @property
    def to_server(self) -> Floats:
        """Per site."""
        return self.problem.fleet.to_server[self.first]

    @cached_property
    def seconds_per_byte(self) -> Floats:
        """1 / rate between clients of any two sites; FAR where the pair must not be formed."""
        rates = self.problem.fleet.links.block(self.first, self.first)
        itself = np.arange(len(self))
        rates[itself, itself] = 0.0
        if isinstance(self.problem.fleet.links, Access):
            # Two clients of one kind reach each other at that kind's own rate.
            alike = self.count > 1
            rates[itself[alike], itself[alike]] = self.problem.fleet.links.rates[self.first[alike]]
        for n, k in self.problem.wishes.forbidden:
            rates[n, k] = rates[k, n] = 0.0
        linked = rates > 0
        np.divide(1.0, rates, out=rates, where=linked)
        rates[~linked] = FAR
        return rates

    @cached_property
    def typical_hop(self) -> float:
        """Seconds per byte of the middling link of the first site."""
        return float(np.median(self.seconds_per_byte[0, 1:])) if len(self) > 1 else 0.0

    @cached_property
    def typical(self) -> int:
        """The site with the middling link to the server."""
        return int(np.argsort(self.to_server, kind="stable")[len(self) // 2])

    def remember(
        self,
        kind: tuple[int, int],
        members: Ints,
        hosts: Ints,
        compute: Callable[[Ints, Ints], Floats],
    ) -> Floats:
        """compute(members, hosts), kept: neighbouring boxes ask for the same block again."""
        key = (kind, members.tobytes(), hosts.tobytes())
        return self._blocks.get(key, lambda: compute(members, hosts))

    def spread(self, host_of: list[tuple[int, int, int]]) -> Ints:
        """Client by client, an assignment given as (member site, host site, how many).

        The members of a site are dealt out evenly over the clients of each host site; everybody
        who is not dealt serves itself.
        """
        served_by = np.arange(len(self.problem.fleet))
        next_member = np.zeros(len(self), dtype=np.int64)
        next_host = np.zeros(len(self), dtype=np.int64)
        for member, host, amount in host_of:
            dealt = self.clients[member][next_member[member] : next_member[member] + amount]
            turns = (next_host[host] + np.arange(amount)) % self.count[host]
            served_by[dealt] = self.clients[host][turns]
            next_member[member] += amount
            next_host[host] += amount
        return served_by


def find_sites(problem: Problem) -> Sites:
    """The sites of a problem: classes of identical clients where there are any."""
    fleet, wishes = problem.fleet, problem.wishes
    everybody = np.arange(len(fleet))
    allowed = np.ones(len(fleet), dtype=bool)
    if wishes.allowed is not None:
        allowed[:] = False
        allowed[list(wishes.allowed)] = True
    if isinstance(fleet.links, Access) and not wishes.forbidden and wishes.aggregators is None:
        kinds = _kinds(fleet.throughput, fleet.to_server, fleet.links.rates, allowed)
        _, first, site_of, count = np.unique(
            kinds, return_index=True, return_inverse=True, return_counts=True
        )
        if len(first) < len(fleet) and len(first) <= MOST_SITES:
            order = np.argsort(site_of, kind="stable")
            clients = tuple(np.split(order, np.cumsum(count)[:-1]))
            return Sites(problem, clients, first, count, allowed[first])
    if len(fleet) > MOST_SITES:
        raise InputError(
            f"the fleet has {len(fleet)} clients that all differ; the exact planner takes"
            f" {MOST_SITES}, or any number of clients of at most {MOST_SITES} kinds with access"
            f" rates (rounding throughputs and rates makes clients alike)"
        )
    ones = np.ones(len(fleet), dtype=np.int64)
    return Sites(problem, tuple(everybody[:, None]), everybody, ones, allowed)


def _kinds(*columns: NDArray[Any]) -> Ints:
    """A number for every client, the same for clients that are alike in all columns."""
    kinds = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        values, position = np.unique(column, return_inverse=True)
        # Renumbered after every column: products of the counts could overflow.
        kinds = np.unique(kinds * len(values) + position, return_inverse=True)[1]
    return kinds
