"""Who holds which layer in a round, and so who is averaged with whom and when."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tiercut.engines.chains import HEAD
from tiercut.engines.task import Brief, Round
from tiercut.errors import InputError
from tiercut.schemes import Part

Ints = NDArray[np.int64]


class Tiers:
    """A round's placement, arranged in rows: who takes part first, by cut layer and name."""

    def __init__(self, task: Brief, plan: Round) -> None:
        self.task, self.scheme = task, task.scheme
        placement = plan.placement
        rank = np.empty(len(task.clients), dtype=np.int64)
        rank[task.order] = np.arange(len(task.clients))
        absent = ~plan.present[0]
        local = self.scheme.local_loss
        cuts = placement.cut_layers if local else np.zeros(len(rank), dtype=np.int64)
        self.rows: Ints = np.lexsort((rank, np.where(absent, 0, cuts), absent))
        self.taking_part = int((~absent).sum())
        clients = self.rows[: self.taking_part]
        self._h, self._v = placement.aggregator_layers[clients], placement.cut_layers[clients]
        self._served_by = placement.aggregator_of[clients]
        self._cuts = cuts[clients]
        whole = task.whole
        self._clients = clients if whole is None else whole.numbers[clients]
        self._count = len(rank) if whole is None else whole.clients

    @property
    def cuts(self) -> list[int | None]:
        """The cuts that need a computation of their own; None is the whole model end to end."""
        return [cut for cut, _, _ in self.buckets()]

    def buckets(self) -> list[tuple[int | None, int, int]]:
        """Every cut with its first row, and the row after its last."""
        cuts, starts = np.unique(self._cuts, return_index=True)
        ends = [*starts[1:].tolist(), self.taking_part]
        return [
            (int(cut) or None, first, last)
            for cut, first, last in zip(cuts, starts.tolist(), ends, strict=True)
        ]

    def hosts(self, layer: str) -> Ints:
        """Who holds a layer of each row: a number per node, -1 where the row has no such layer."""
        aggregator = self._count + self._served_by
        if layer.startswith(HEAD):
            return np.where(self._v == int(layer.removeprefix(HEAD)), aggregator, -1)
        number = self.task.model.layer_names.index(layer) + 1
        below = np.where(number <= self._h, self._clients, aggregator)
        return np.where(number <= self._v, below, 2 * self._count)

    def part_of(self, layer: str) -> NDArray[np.object_]:
        """The part that a layer belongs to in each row."""
        return self._parts_of(self.hosts(layer))

    def _parts_of(self, hosts: Ints) -> NDArray[np.object_]:
        parts = np.full(len(hosts), None, dtype=object)
        for tier, part in enumerate((Part.CLIENT, Part.AGGREGATOR, Part.SERVER)):
            parts[hosts >= tier * self._count] = part
        return parts

    def sharing_hosts(self, hosts: Ints) -> Ints:
        """Those of the hosts that have one model for all their clients."""
        if not self.shared:
            return hosts[:0]
        return np.unique(hosts[np.isin(self._parts_of(hosts), list(self.shared))])

    @cached_property
    def several(self) -> frozenset[str]:
        """The layers of which this round has more than one model."""
        return frozenset(layer for layer in self.layers if self._models(layer) > 1)

    def _models(self, layer: str) -> int:
        hosts = self.hosts(layer)
        hosts = hosts[hosts >= 0]
        sharing = self.sharing_hosts(hosts)
        return len(sharing) + int((~np.isin(hosts, sharing)).sum())

    def groups(self, part: Part, present: NDArray[np.bool_]) -> Iterator[tuple[str, Ints]]:
        """For every layer that is in `part` somewhere: its host in rows where it is, else -1."""
        for layer in self.layers:
            hosts = np.where((self.part_of(layer) == part) & present, self.hosts(layer), -1)
            if (hosts >= 0).any():
                yield layer, hosts

    @cached_property
    def layers(self) -> list[str]:
        """The model's layers, and the heads of this round."""
        heads = [f"{HEAD}{cut}" for cut in self.cuts if cut is not None]
        return [*self.task.model.layer_names, *heads]

    @cached_property
    def shared(self) -> dict[Part, frozenset[str]]:
        """The layers that several rows share as one model, by part."""
        everybody = np.ones(self.taking_part, dtype=np.bool_)
        parts = [p for p in (Part.AGGREGATOR, Part.SERVER) if self.scheme.interval(p) == "batch"]
        shared = {p: frozenset(name for name, _ in self.groups(p, everybody)) for p in parts}
        return {part: layers for part, layers in shared.items() if layers}

    def shared_in(self, first: int, last: int) -> frozenset[str]:
        """The shared layers of some rows, which must agree on them to compute as one."""
        shared: set[str] = set()
        for layer in self.shared_layers:
            parts = set(self.part_of(layer)[first:last])
            if len(parts) > 1:
                raise InputError(
                    f"layer {layer} is on different tiers for clients with one computation; give"
                    f" them one aggregator layer, or average less often than every batch"
                )
            if parts <= self.shared.keys():
                shared.add(layer)
        return frozenset(shared)

    @cached_property
    def shared_layers(self) -> frozenset[str]:
        """All of them."""
        return frozenset().union(*self.shared.values())

    def sends(self, first: int, last: int) -> tuple[frozenset[int], ...]:
        """After which layers the activations of some rows travel, if that changes them.

        A client that serves itself sends nothing at h.
        """
        if self.task.wire == "fp32":
            return (frozenset(),) * (last - first)
        alone = self._served_by == self._clients
        return tuple(
            frozenset([int(self._v[row])] if alone[row] else map(int, (self._h[row], self._v[row])))
            for row in range(first, last)
        )

    def stretches(self, batches: int) -> Iterator[range]:
        """An epoch's batches, cut where something is averaged."""
        steps = [i for i in map(self.scheme.interval, Part) if isinstance(i, int)]
        ends = sorted({e for step in steps for e in range(step, batches, step)} | {batches})
        return (range(first, last) for first, last in zip([0, *ends], ends, strict=False))

    def due(self, done: int, batches: int) -> list[Part]:
        """The parts that are averaged after `done` batches of an epoch."""
        return [part for part in Part if self._is_due(part, done, batches)]

    def _is_due(self, part: Part, done: int, batches: int) -> bool:
        interval = self.scheme.interval(part)
        if isinstance(interval, int):
            return done % interval == 0 or done == batches
        return interval == "epoch" and done == batches
