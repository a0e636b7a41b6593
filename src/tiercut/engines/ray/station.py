"""What runs in a worker's process: one shard at a time, told what to do by the driver.

What a method returns first is small and goes to the driver. The rest stays in Ray's object store,
and the driver passes on where it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from tiercut.engines.cores import one_thread_each
from tiercut.engines.executor import Factory, Settings
from tiercut.engines.mean import Mean, combine
from tiercut.engines.ray.parcel import Parcel
from tiercut.engines.shard import Shard
from tiercut.engines.task import Round, Task, Whole
from tiercut.engines.tiers import Tiers

WEIGHT = "weight/"
"""How a snapshot calls replicas, beside what clients keep."""


@dataclass(frozen=True, eq=False)
class Orders:
    """One worker's part of a round: its clients, and what they need."""

    clients: tuple[str, ...]
    streams: tuple[str, ...]
    shards: tuple[NDArray[np.int64], ...]
    whole: Whole
    round: Round
    steps: NDArray[np.int64]
    """Batches that each client has trained on, ever."""
    alone: bool
    """Whether no other worker takes part."""
    sources: Mapping[str, NDArray[np.int64]] | None = None
    """For each layer which of the moments that come along each client goes on with, or -1.

    Without it, moments are those that the clients have here.
    """


class Station:
    """Holds the replicas of some clients, whole groups of them."""

    def load(self, base: Task, settings: Settings, executor: Factory) -> None:
        """Take up a task; it comes without clients."""
        self._base, self._settings, self._executor = base, settings, executor
        self._shard: Shard | None = None

    def begin(self, orders: Orders, start: Parcel, before: Parcel, *moments: Parcel) -> None:
        """Start a round from weights that all have in common."""
        shard = self._shard
        if shard is None or _roster(shard.task) != orders.whole.numbers.tolist():
            part = self._base.part(orders.clients, orders.streams, orders.shards, orders.whole)
            shard = Shard(part, self._settings, self._executor)
        shard.arrange(Tiers(shard.task, orders.round))
        stack = shard.stack
        stack.load_start(start, before)
        stack.steps.copy_(torch.from_numpy(orders.steps[stack.rows]))
        if orders.sources is not None:
            for layer in stack.layers:
                chosen = orders.sources[layer].tolist()
                stack.load_moments(layer, [moments[n] if n >= 0 else {} for n in chosen])
        shard.begin(alone=orders.alone)
        self._shard, self._round = shard, orders.round

    @property
    def shard(self) -> Shard:
        """The replicas of this round."""
        assert self._shard is not None, "a round must have begun"
        return self._shard

    def train(self, epoch: int, batches: range) -> NDArray[np.float64]:
        """Train on some batches of an epoch; gives the sums of both losses."""
        with one_thread_each():
            self.shard.train(self._number(epoch), batches, self._round.present[epoch])
        return self.shard.take_losses()

    def train_and_meet(self, epoch: int, batches: range) -> tuple[NDArray[np.float64], Mean]:
        """Train, and give what the server's replicas came to here."""
        losses = self.train(epoch, batches)
        return losses, _sent(self.shard.meet(batches, self._round.present[epoch]))

    def adopt(self, epoch: int, mean: Mean) -> None:
        """Give the server's replicas what they came to everywhere."""
        with one_thread_each():
            self.shard.adopt(mean, self._round.present[epoch])

    def _number(self, epoch: int) -> int:
        return self._round.index * self._base.epochs + epoch

    def finish(self) -> tuple[None, Mean]:
        """What everybody here who stayed comes to."""
        return None, _sent(self.shard.finish(self._round.present[-1]))

    def combine(self, *means: Mean) -> tuple[None, Mean]:
        """The mean over several workers."""
        return None, _sent(combine(means))

    def conclude(self, start: Parcel, apart: Set[str], *means: Mean) -> tuple[None, Parcel, Parcel]:
        """What the round came to, and what the last one had come to of what is `apart` in it.

        Where nobody trained, that is what the last one came to.
        """
        mean = combine(means).values
        before = {key: start[key] for key in apart & mean.keys()}
        return None, Parcel({**start, **mean}), Parcel(before)

    def park(self) -> tuple[Parcel | None, ...]:
        """The moments of each client, in their order."""
        kept = self.shard.stack.kept()
        del kept["steps"]
        count = len(self.shard.task.clients)
        return None, *(
            Parcel({key: values[n] for key, values in kept.items()}) for n in range(count)
        )

    def snapshot(self) -> tuple[None, Parcel]:
        """Everything that the rest of the round depends on."""
        stack = self.shard.stack
        replicas = {f"{WEIGHT}{key}": value for key, value in stack.weights.items()}
        return None, Parcel({**stack.kept(), **replicas})

    def restore(self, snapshot: Parcel) -> None:
        """Go on from there; the round must have begun."""
        stack = self.shard.stack
        stack.load_kept(snapshot)
        for key, value in stack.weights.items():
            value.copy_(snapshot[f"{WEIGHT}{key}"])


def _roster(task: Task) -> list[int]:
    return [] if task.whole is None else task.whole.numbers.tolist()


def _sent(mean: Mean) -> Mean:
    return Mean(Parcel(mean.values), mean.weights)
