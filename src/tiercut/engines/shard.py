"""Replicas of clients as stacked tensors, trained at once.

A shard has all clients of its task. Where the task is a part of a larger one, whole groups are in
it, and only the server's replicas meet those of other shards: `meet` says what they come to here,
and `adopt` takes what they come to everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tiercut.engines.chains import build_chains
from tiercut.engines.cores import spread
from tiercut.engines.executor import Bucket, Executor, Factory, Joint, Settings, Stepwise
from tiercut.engines.feed import Feed
from tiercut.engines.layout import weighted_sum
from tiercut.engines.mean import Mean
from tiercut.engines.mixing import Mixing
from tiercut.engines.stack import Stack
from tiercut.engines.task import Task
from tiercut.engines.tiers import Ints, Tiers
from tiercut.schemes import Part

Present = NDArray[np.bool_]
"""Who is there, by client of the task; methods with an underscore go by row."""


class Shard:
    """Trains its clients, a few batches at a time."""

    def __init__(self, task: Task, settings: Settings, executor: Factory) -> None:
        self.task, self.settings, self._factory = task, settings, executor
        self.stack = Stack(
            task, settings.device, settings.dtype, channels_last=executor.channels_last
        )
        self.feed = Feed(task, settings.device, settings.dtype)
        self._executors: dict[tuple[object, ...], Executor] = {}
        self._gradients: dict[str, Tensor] = {}
        self._running: list[Executor] = []
        self._tiers: Tiers
        self._alone = True

    # ------------------------------------------------------------------------------- beginning

    def arrange(self, tiers: Tiers) -> None:
        """Bring everybody into a round's places."""
        self.stack.adopt_heads(tiers.layers)
        if self.stack.arrange(tiers.rows, tiers.taking_part):
            self._executors.clear()
            self._gradients.clear()
        self._tiers = tiers

    def begin(self, *, alone: bool = True) -> None:
        """Start the round that was arranged; `alone` where no other shard has a part in it."""
        self.stack.restart()
        self._running = [self._executor(*bucket) for bucket in self._tiers.buckets()]
        self._alone = alone

    def _executor(self, cut: int | None, first: int, last: int) -> Executor:
        tiers = self._tiers
        layers, sends = tiers.shared_in(first, last), tiers.sends(first, last)
        shared = {layer: tiers.hosts(layer)[first:last] for layer in layers}
        hosts = frozenset((layer, rows.tobytes()) for layer, rows in shared.items())
        key = (cut, first, last, hosts, sends)
        if key not in self._executors:
            for name in [] if self._factory.shares else self.stack.keys_of(shared):
                if name in self.stack.moments and name not in self._gradients:
                    self._gradients[name] = torch.zeros_like(self.stack.weights[name])
            chains = build_chains(self.task, cut)
            bucket = Bucket(self.stack, chains, cut, first, last, shared, sends)
            self._executors[key] = self._factory(bucket, self.settings, self._gradients)
        return self._executors[key]

    # -------------------------------------------------------------------------------- training

    def train(self, epoch: int, batches: range, present: Present) -> None:
        """Train on some batches of epoch number `epoch` of the whole training."""
        here = self._by_row(present)
        self.feed.start_epoch(epoch)
        for stretch in self._tiers.stretches(self.feed.batches):
            mine = range(max(stretch.start, batches.start), min(stretch.stop, batches.stop))
            self._run(mine, here)
            if mine and mine.stop == stretch.stop:
                self._average(self._tiers.due(mine.stop, self.feed.batches), here)

    def _run(self, batches: range, here: Present) -> None:
        own = [_own(executor, here) for executor in self._running]
        if not self._tiers.shared:
            for executor, rows in zip(self._running, own, strict=True):
                executor.train(self.feed, batches, rows)
        elif self._factory.shares:
            first, *others = cast(list[Joint], self._running)
            first.train_with(others, self.feed, batches, own)
        else:
            for batch in batches:
                self._run_shared(batch, here)

    def _run_shared(self, batch: int, here: Present) -> None:
        """One batch where hosts have one model for several clients: a barrier before the update."""
        executors = cast(list[Stepwise], self._running)
        for executor in executors:
            executor.backward(self.feed, batch, _own(executor, here))
        training = self._sizes(batch, here) > 0
        for executor in executors:
            executor.update(None, _own(executor, training))
        moving: dict[bytes, list[str]] = {}
        for part in self._tiers.shared:
            sizes = self._sizes(batch, here, part)
            for layer, group in self._tiers.groups(part, here):
                mixing = Mixing.of(group, sizes, self.settings.device)
                if mixing is not None:
                    for key in self.stack.keys_of([layer]):
                        mixing.average(self._gradients.get(key, self.stack.weights[key]))
                if part == Part.SERVER and not self._alone:
                    continue  # until it is known what it comes to everywhere
                rows = np.isin(group, group[training]) & (group >= 0)
                moving.setdefault(rows.tobytes(), []).append(layer)
        for mask, layers in moving.items():
            self._update(layers, np.frombuffer(mask, dtype=np.bool_))

    def _update(self, layers: list[str], rows: Present) -> None:
        for executor in cast(list[Stepwise], self._running):
            executor.update(layers, _own(executor, rows))

    def _average(self, parts: list[Part], here: Present) -> None:
        weights = self._weights()
        due = [
            (mixing, self.stack.weights[key])
            for part in parts
            for layer, group in self._tiers.groups(part, here)
            if (mixing := Mixing.of(group, weights, self.settings.device)) is not None
            for key in self.stack.keys_of([layer])
        ]
        threads = self.settings.threads if self.settings.device.type == "cpu" else 1
        spread(lambda i: due[i][0].average(due[i][1]), range(len(due)), threads)

    def take_losses(self) -> NDArray[np.float64]:
        """The sums over samples of the local and the final loss since the last call."""
        losses: NDArray[np.float64] = np.sum([e.take_losses() for e in self._running], axis=0)
        return losses

    # --------------------------------------------------------------------- the server's replicas

    def meet(self, batches: range, present: Present) -> Mean:
        """What the server's replicas here came to after these batches, which averaged them.

        Where the server has one model for all, this is the gradient of the last of the batches.
        """
        here = self._by_row(present)
        server = Part.SERVER
        weights = self._sizes(batches[-1], here, server) if self._shares_server else self._weights()
        values: dict[str, Tensor] = {}
        behind: dict[str, float] = {}
        for layer, rows in self._server_rows(here):
            weight = float(weights[rows].sum())
            for key in self.stack.keys_of([layer]) if weight else []:
                values[key], behind[key] = self._of_server(key)[rows[0]], weight
        return Mean(values, behind)

    def adopt(self, mean: Mean, present: Present) -> None:
        """Give the server's replicas what they come to everywhere."""
        for layer, rows in self._server_rows(self._by_row(present)):
            places = torch.from_numpy(rows).to(self.settings.device)
            known = [key for key in self.stack.keys_of([layer]) if key in mean.values]
            for key in known:
                self._of_server(key)[places] = mean.values[key].to(self.settings.device)
            if known and self._shares_server:
                moving = np.zeros(self._tiers.taking_part, dtype=np.bool_)
                moving[rows] = True
                self._update([layer], moving)

    @property
    def _shares_server(self) -> bool:
        return Part.SERVER in self._tiers.shared

    def _server_rows(self, here: Present) -> Iterator[tuple[str, Ints]]:
        for layer, group in self._tiers.groups(Part.SERVER, here):
            yield layer, np.flatnonzero(group >= 0)

    def _of_server(self, key: str) -> Tensor:
        """What its replicas exchange: weights, or the gradients of one model."""
        weights = self.stack.weights[key]
        return self._gradients.get(key, weights) if self._shares_server else weights

    # --------------------------------------------------------------------------------- the end

    def finish(self, present: Present) -> Mean:
        """What everybody who stayed comes to."""
        here = self._by_row(present)
        values: dict[str, Tensor] = {}
        behind: dict[str, float] = {}
        for layer in self.stack.layers:
            holding = here & (self._tiers.hosts(layer) >= 0)
            shares = np.where(holding, self._weights(), 0.0)
            if not shares.any():
                continue
            mean = torch.from_numpy(shares / shares.sum()).to(self.settings.device)
            for key in self.stack.keys_of([layer]):
                stack = self.stack.weights[key]
                if stack.is_floating_point():
                    values[key] = weighted_sum(mean, stack)
                else:
                    values[key] = stack[torch.from_numpy(holding)].amax(0)
                behind[key] = float(shares.sum())
        return Mean(values, behind)

    def _by_row(self, present: Present) -> Present:
        return present[self._clients]

    def _weights(self) -> NDArray[np.float64]:
        weights: NDArray[np.float64] = self.task.weights[self._clients]
        return weights

    def _sizes(self, batch: int, here: Present, part: Part = Part.CLIENT) -> NDArray[np.float64]:
        """The samples of a batch that a part trains on."""
        sizes: Ints = self.feed.sizes[self._clients, batch] * here
        return (self.task.seen[sizes] if part == Part.SERVER else sizes).astype(np.float64)

    @property
    def _clients(self) -> Ints:
        """The client of each row that takes part."""
        return self._tiers.rows[: self._tiers.taking_part]


def _own(executor: Executor, rows: Present) -> Present:
    return rows[executor.bucket.first : executor.bucket.last]
