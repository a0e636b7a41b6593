"""How many models an aggregator may host, for given limits on a round's phases.

A round's seconds are 2 theta + weight * (t_1 + ... + t_m): theta for moving weights, and
thresholds t_j on what a batch or an epoch takes (`paper`: forward and backward; `network`: the
epoch). A client n on an aggregator k that hosts c models keeps the thresholds if, for every row,

    alpha a_n + beta c_nk + fixed_k + slope_k c  <=  budget_k

with a_n = F(1,h)/p_n and c_nk = G_h/r_nk. Everything rises with c, so each pair has a largest load.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiercut.plan.sites import FAR, Sites

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ROUNDING = 1e-9
"""Budgets are stretched by this share and loads by this much, so that rounding never makes a bound
too high."""


NO_WORK = 1e-30
"""Stands for a model that takes no time at all, so that budgets can be divided by it."""

NO_TIME = 1e-20
"""Added to budgets: any number of models that take no time at all fits into none."""


@dataclass(frozen=True)
class Box:
    """Ranges of the thresholds: theta first, then t_1..t_m."""

    low: tuple[float, ...]
    high: tuple[float, ...]

    def at_most(self, axis: int, value: float) -> Box:
        """The part of the box below `value` on one axis."""
        return Box(self.low, _with(self.high, axis, value))

    def at_least(self, axis: int, value: float) -> Box:
        """The part of the box above `value` on one axis."""
        return Box(_with(self.low, axis, value), self.high)


def _with(values: tuple[float, ...], axis: int, value: float) -> tuple[float, ...]:
    return (*values[:axis], value, *values[axis + 1 :])


@dataclass(frozen=True, eq=False)
class Row:
    """One linear condition; `on` says which thresholds it adds up to."""

    alpha: float
    beta: float
    fixed: Floats
    slope: Floats
    on: tuple[int, ...]


class Limits:
    """The load limits of one pair of layers (h, v)."""

    def __init__(self, sites: Sites, h: int, v: int) -> None:
        """Collect the rows of the problem's cost model."""
        problem = sites.problem
        work, scheme = problem.work, problem.scheme
        self.sites, self.h, self.v = sites, h, v
        self.weak: Floats = work.forward(1, h) / sites.throughput
        self.hosting: Floats = work.forward(h + 1, v) / sites.throughput
        self.uplink: Floats = work.upload(v, scheme) / sites.to_server
        self.hop_bytes = float(work.activations(h))
        self.fetch: Floats = work.weights(1, v) / sites.to_server
        server_work = len(problem.fleet) * float(work.above(v, scheme))
        self.server = server_work / problem.fleet.server_throughput
        theta = float((work.weights(1, h) / sites.to_server).max())
        if problem.model == "paper":
            self.weight = float(work.epochs * problem.batches)
            self.rows = self._paper_rows()
            self.floor: tuple[float, ...] = (theta, 0.0, self.server)
        else:
            self.weight = float(work.epochs)
            self.rows = self._network_rows(problem.batches, shared=problem.fleet.links.shared)
            self.floor = (theta, problem.batches * self.server)
        self.rates = (2.0, *(self.weight for _ in self.floor[1:]))
        """Seconds of the round that one second of each threshold costs."""
        self._stack()

    def _paper_rows(self) -> list[Row]:
        none = np.zeros(len(self.sites))
        return [
            Row(1, 1, self.uplink, self.hosting, (1, 0)),
            Row(2, 1, none, 2 * self.hosting, (0, 1)),
            Row(3, 2, self.uplink, 3 * self.hosting, (1, 1)),
        ]

    def _network_rows(self, batches: int, *, shared: bool) -> list[Row]:
        """The pipeline of tiercut.cost.delay: each row is one of the terms of its maximum.

        A shared radio carries the hops of all members; here it is charged the fastest possible
        hop for each, which never overestimates.
        """
        more = batches - 1
        none = np.zeros(len(self.sites))
        served = np.full(len(self.sites), self.server)
        fastest = self.sites.seconds_per_byte.min(axis=0)
        hop = 2 * self.hop_bytes * np.where(fastest < FAR, fastest, 0.0) if shared else none
        own = 3 * self.hosting
        way = served + self.hosting  # of a batch, beside what depends on the load
        radio = self.uplink + hop
        rows = [
            Row(3 * batches, 2 * batches, batches * own, none, (1,)),
            Row(0, 0, 3 * batches * self.weak, batches * own, (1,)),
            Row(1 + 3 * more, 1 + 2 * more, way + more * own, self.uplink, (1,)),
            Row(1, 1, way + 3 * more * self.weak, self.uplink + more * own, (1,)),
            Row(1, 1, way - more * hop, self.uplink + more * radio, (1,)),
            Row(1, 1, way + more * served, self.uplink, (1,)),
        ]
        if shared:
            rows.append(Row(0, 0, -batches * hop, batches * radio, (1,)))
        return rows

    def _stack(self) -> None:
        """The rows as matrices, divided by their slopes: budgets then count models directly.

        Everything that does not depend on the question is done here, rounding included: the
        search asks many hundred questions, each of them small.
        """
        slopes = np.array([row.slope for row in self.rows])
        self._per_model = 1.0 / np.maximum(slopes, NO_WORK)
        self._per_model_generously = (1 + ROUNDING) * self._per_model
        self._alpha = np.array([row.alpha for row in self.rows])[:, None]
        self._beta = np.array([row.beta for row in self.rows])[:, None, None]
        fixed = np.array([row.fixed for row in self.rows])
        self._fixed = (fixed - NO_TIME) * self._per_model - ROUNDING
        self._weak = self._alpha * self.weak * self._per_model
        self._moving = 2 * self.fetch / self.weight  # a host's share of T1 and T3, per batch
        self._most_models = np.where(self.sites.may_host, np.inf, 1.0)

    def cost(self, thresholds: tuple[float, ...]) -> float:
        """The round's seconds when all thresholds are used up."""
        return 2 * thresholds[0] + self.weight * sum(thresholds[1:])

    def estimate(self) -> float:
        """A rough guess of the best round: all clients share the middle layers in proportion.

        It only decides which (h, v) is looked at first.
        """
        count = self.sites.count
        hop = self.hop_bytes * self.sites.typical_hop
        shared = count.sum() / (count / np.maximum(self.hosting, NO_WORK)).sum()
        uplink, fetch = self.uplink[self.sites.typical], self.fetch[self.sites.typical]
        slowest = float(self.weak.max())
        forward = slowest + hop + shared + uplink
        backward = max(self.server, 2 * slowest + hop + 2 * shared)
        steps = self.sites.problem.work.epochs * self.sites.problem.batches
        return float(2 * fetch + steps * (forward + backward))

    def worst(self) -> float:
        """Seconds that no plan exceeds, however bad, as long as it uses only links that exist."""
        hops = self.sites.seconds_per_byte
        slowest = self.hop_bytes * float(np.max(hops, where=hops < FAR, initial=0.0))
        models = len(self.sites.problem.fleet)
        thresholds = [max(self.floor[0], float(self.fetch.max())), *self.floor[1:]]
        for row in self.rows:
            most = float((row.fixed + models * row.slope).max())
            most += row.alpha * float(self.weak.max()) + row.beta * slowest
            for axis, on in enumerate(row.on, start=1):
                thresholds[axis] = max(thresholds[axis], most) if on else thresholds[axis]
        radios = 2 * models * models * self.sites.problem.batches * slowest
        return self.cost(tuple(thresholds)) + self.weight * radios

    def ceiling(self, seconds: float, box: Box) -> tuple[float, ...]:
        """The most each threshold can be in a round of `seconds`, given the others' lows."""
        spare = seconds - self.cost(box.low)
        return tuple(
            min(high, low + spare / rate)
            for low, high, rate in zip(box.low, box.high, self.rates, strict=True)
        )

    def tight(self, seconds: float, box: Box) -> Box | None:
        """The box without what no plan within `seconds` needs; None if nothing is left.

        T1 is the floor, or what it takes some host to fetch its layers: few thetas are possible.
        """
        high = self.ceiling(seconds, box)
        able = self.own(self.budgets(seconds, box), high[0]) >= 1
        thetas = np.maximum(self.fetch[able], self.floor[0])
        thetas = thetas[(thetas >= box.low[0]) & (thetas <= high[0] * (1 + ROUNDING))]
        if len(thetas) == 0:
            return None
        lowest, highest = float(thetas.min()), float(thetas.max())
        return Box((lowest, *box.low[1:]), (highest, *high[1:]))

    def budgets(self, seconds: float, box: Box) -> Floats:
        """For each row, how many models each host could afford if nothing else took time."""
        low, high = box.low[1:], box.high[1:]
        batch = seconds / self.weight - sum(low)
        left = [[batch + sum(itertools.compress(low, row.on))] for row in self.rows]
        most = [[sum(itertools.compress(high, row.on))] for row in self.rows]
        moving = np.maximum(2 * box.low[0] / self.weight, self._moving)
        room: Floats = np.minimum(np.array(left) - moving, most)
        room *= self._per_model_generously
        room -= self._fixed
        return room

    def own(self, budgets: Floats, theta: float) -> Floats:
        """For each site the most models it may host, itself included; 0 if not even itself.

        A host must fetch layers 1..v within `theta`.
        """
        loads: Floats = np.minimum((budgets - self._weak).min(axis=0), self._most_models)
        loads[self.fetch > theta * (1 + ROUNDING)] = 0
        np.floor(loads, out=loads)
        np.maximum(loads, 0.0, out=loads)
        return loads

    def pairs(
        self, budgets: Floats, members: Ints, hosts: Ints, *, remember: bool = True
    ) -> Floats:
        """How many models host k may host while member n is one of them; not rounded down."""
        if remember:
            needs = self.sites.remember((self.h, self.v), members, hosts, self._needs)
        else:
            needs = self._needs(members, hosts)
        room: Floats = (budgets.take(hosts, axis=1)[:, :, None] - needs).min(axis=0)
        return room.T

    def _needs(self, members: Ints, hosts: Ints) -> Floats:
        """What member n takes of each row's budget on host k, in models; a host's lie together."""
        hop = self.hop_bytes * self.sites.seconds_per_byte[members, hosts[:, None]]
        weak = (self._alpha * self.weak[members])[:, None, :]
        needs: Floats = (weak + self._beta * hop) * self._per_model.take(hosts, axis=1)[:, :, None]
        return needs
