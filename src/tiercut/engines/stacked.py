"""Engine `stacked`: all clients' replicas as stacked tensors, trained at once."""

from __future__ import annotations

from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tiercut.engines.chains import HEAD, build_chains
from tiercut.engines.cores import one_thread_each, spread
from tiercut.engines.executor import Bucket, Executor, Factory, Settings, Stepwise
from tiercut.engines.feed import Feed
from tiercut.engines.layout import weighted_sum
from tiercut.engines.mixing import Mixing
from tiercut.engines.stack import Stack
from tiercut.engines.task import OnEpoch, Round, State, Task, Trained, quiet
from tiercut.engines.tiers import Tiers
from tiercut.schemes import Part


class Stacked:
    """Trains round after round from the task's initial weights."""

    def __init__(self, task: Task, settings: Settings, executor: Factory) -> None:
        self.task, self.settings, self._factory = task, settings, executor
        self.stack = Stack(
            task, settings.device, settings.dtype, channels_last=executor.channels_last
        )
        self.feed = Feed(task, settings.device, settings.dtype)
        self.hosts: dict[str, NDArray[np.int64]] = {}
        """Who held each layer of each client when it last took part; -1 is nobody."""
        self.recent = np.full(len(task.clients), -1)
        """The epoch in which each client last trained."""
        self._executors: dict[tuple[object, ...], Executor] = {}
        self._gradients: dict[str, Tensor] = {}

    def run_round(self, plan: Round, on_epoch: OnEpoch = quiet) -> Trained:
        """Train all epochs of a round, and start the next one from the average."""
        with one_thread_each():
            return self._run_round(plan, on_epoch)

    def _run_round(self, plan: Round, on_epoch: OnEpoch) -> Trained:
        tiers = Tiers(self.task, plan)
        executors = self._begin(tiers)
        samples, sums = 0, np.zeros(2)
        for epoch, present in enumerate(plan.present):
            here = present[tiers.rows[: tiers.taking_part]]
            number = plan.index * self.task.epochs + epoch
            samples += self._run_epoch(number, tiers, executors, here)
            self.recent[present] = number
            sums += np.sum([e.take_losses() for e in executors], axis=0)
            on_epoch(epoch + 1)
        self._end(tiers, here)
        local, loss = (sums / max(samples, 1)).tolist()
        return Trained(samples, local if self.task.scheme.local_loss else None, loss)

    # ------------------------------------------------------------------------------- beginning

    def _begin(self, tiers: Tiers) -> list[Executor]:
        for cut in tiers.cuts:
            if cut is not None:
                self.stack.adopt(f"{HEAD}{cut}", self.task.build_head(cut))
        if self.stack.arrange(tiers.rows, tiers.taking_part):
            self._executors.clear()
            self._gradients.clear()
        self._carry_moments(tiers)
        self.stack.restart()
        return [self._executor(tiers, *bucket) for bucket in tiers.buckets()]

    def _carry_moments(self, tiers: Tiers) -> None:
        """Optimiser state stays on its host; a layer that moved to another one starts afresh."""
        for layer in dict.fromkeys(self.stack.layer_of.values()):
            before = self.hosts.setdefault(layer, np.full(len(self.task.clients), -1))
            now = before.copy()
            clients = tiers.rows[: tiers.taking_part]
            now[clients] = tiers.hosts(layer)
            source = np.where(now == before, np.arange(len(now)), -1)
            for host in tiers.sharing_hosts(now):
                # One state for all on this host: the one that was trained last.
                those = np.flatnonzero(before == host)
                source[now == host] = those[np.argmax(self.recent[those])] if len(those) else -1
            self.stack.move_moments(layer, _by_row(source, tiers.rows))
            self.hosts[layer] = now

    def _executor(self, tiers: Tiers, cut: int | None, first: int, last: int) -> Executor:
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

    # ---------------------------------------------------------------------------------- epochs

    def _run_epoch(
        self, number: int, tiers: Tiers, executors: list[Executor], present: NDArray[np.bool_]
    ) -> int:
        self.feed.start_epoch(number)
        for batches in tiers.stretches(self.feed.batches):
            if tiers.shared and not self._factory.shares:
                for batch in batches:
                    self._run_shared(tiers, cast(list[Stepwise], executors), batch, present)
            else:
                for executor in executors:
                    executor.train(self.feed, batches, _own(executor, present))
            self._average(tiers.due(batches.stop, self.feed.batches), tiers, present)
        clients = tiers.rows[: tiers.taking_part][present]
        return int(self.feed.sizes[clients].sum())

    def _run_shared(
        self, tiers: Tiers, executors: list[Stepwise], batch: int, present: NDArray[np.bool_]
    ) -> None:
        """One batch where hosts have one model for several clients: a barrier before the update."""
        for executor in executors:
            executor.backward(self.feed, batch, _own(executor, present))
        sizes = self.feed.sizes[tiers.rows[: tiers.taking_part], batch] * present
        for executor in executors:
            executor.update(None, _own(executor, sizes > 0))
        moving: dict[bytes, list[str]] = {}
        for part in tiers.shared:
            for layer, group in tiers.groups(part, present):
                mixing = Mixing.of(group, sizes.astype(np.float64), self.settings.device)
                if mixing is not None:
                    for key in self.stack.keys_of([layer]):
                        mixing.average(self._gradients.get(key, self.stack.weights[key]))
                rows = np.isin(group, group[sizes > 0]) & (group >= 0)
                moving.setdefault(rows.tobytes(), []).append(layer)
        for mask, layers in moving.items():
            for executor in executors:
                executor.update(layers, _own(executor, np.frombuffer(mask, dtype=np.bool_)))

    def _average(self, parts: list[Part], tiers: Tiers, present: NDArray[np.bool_]) -> None:
        weights = self.task.weights[tiers.rows[: tiers.taking_part]]
        due = [
            (mixing, self.stack.weights[key])
            for part in parts
            for layer, group in tiers.groups(part, present)
            if (mixing := Mixing.of(group, weights, self.settings.device)) is not None
            for key in self.stack.keys_of([layer])
        ]
        threads = self.settings.threads if self.settings.device.type == "cpu" else 1
        spread(lambda i: due[i][0].average(due[i][1]), range(len(due)), threads)

    # --------------------------------------------------------------------------------- the end

    def _end(self, tiers: Tiers, present: NDArray[np.bool_]) -> None:
        """Everybody who stayed is averaged into the model that the next round starts from."""
        clients = tiers.rows[: tiers.taking_part]
        for layer in dict.fromkeys(self.stack.layer_of.values()):
            holding = present & (tiers.hosts(layer) >= 0)
            shares = np.where(holding, self.task.weights[clients], 0.0)
            if not shares.any():
                continue
            mean = torch.from_numpy(shares / shares.sum()).to(self.settings.device)
            for key in self.stack.keys_of([layer]):
                stack, start = self.stack.weights[key], self.stack.start[key]
                if stack.is_floating_point():
                    start.copy_(weighted_sum(mean, stack))
                else:
                    start.copy_(stack[torch.from_numpy(holding)].amax(0))

    def weights(self) -> dict[str, Tensor]:
        """The model's weights, as its own state_dict calls them."""
        layers = self.task.model.layer_names
        return {f"layers.{key}": self.stack.start[key] for key in self.stack.keys_of(layers)}

    def to_state(self) -> State:
        """Everything that the next round depends on."""
        state = self.stack.to_state()
        state["recent"] = torch.from_numpy(self.recent)
        for layer, hosts in self.hosts.items():
            state[f"hosts/{layer}"] = torch.from_numpy(hosts)
        return state

    def load_state(self, state: State) -> None:
        """Go on from a saved state."""
        for name in [key.removeprefix("hosts/") for key in state if key.startswith("hosts/")]:
            if name.startswith(HEAD):
                self.stack.adopt(name, self.task.build_head(int(name.removeprefix(HEAD))))
            self.hosts[name] = state[f"hosts/{name}"].numpy().copy()
        self.recent = state["recent"].numpy().copy()
        self.stack.load_state(state)


def _own(executor: Executor, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return rows[executor.bucket.first : executor.bucket.last]


def _by_row(source: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """`source` as rows instead of clients."""
    place = np.argsort(rows)
    moved = source[rows]
    return np.where(moved >= 0, place[moved], -1)
