"""Engine `stacked`: all clients' replicas in one shard."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from tiercut.engines.cores import one_thread_each
from tiercut.engines.executor import Factory, Settings
from tiercut.engines.hosting import Hosting
from tiercut.engines.shard import Shard
from tiercut.engines.task import OnEpoch, Round, State, Task, Trained, quiet
from tiercut.engines.tiers import Tiers


class Stacked(Shard):
    """Trains round after round from the task's initial weights."""

    def __init__(self, task: Task, settings: Settings, executor: Factory) -> None:
        super().__init__(task, settings, executor)
        self._hosting = Hosting(len(task.clients))

    def run_round(self, plan: Round, on_epoch: OnEpoch = quiet) -> Trained:
        """Train all epochs of a round, and start the next one from the average."""
        with one_thread_each():
            return self._run_round(plan, on_epoch)

    def _run_round(self, plan: Round, on_epoch: OnEpoch) -> Trained:
        self._take_places(Tiers(self.task, plan))
        sizes, sums = [], np.zeros(2)
        for epoch, present in enumerate(plan.present):
            number = plan.index * self.task.epochs + epoch
            self.train(number, range(self.feed.batches), present)
            self._hosting.note_epoch(number, present)
            sizes.append(self.feed.sizes[present].flatten())
            sums += self.take_losses()
            on_epoch(epoch + 1)
        self.stack.go_on(self.finish(present).values, self._tiers.several)
        return Trained.over(self.task, np.concatenate(sizes), sums.tolist())

    def _take_places(self, tiers: Tiers) -> None:
        self.arrange(tiers)
        for layer, source in self._hosting.move(tiers, self.stack.layers):
            self.stack.move_moments(layer, _by_row(source, tiers.rows))
        self.begin()

    def weights(self) -> dict[str, Tensor]:
        """The model's weights, as its own state_dict calls them."""
        return self.stack.model()

    def to_state(self) -> State:
        """Everything that the next round depends on."""
        return {**self.stack.to_state(), **self._hosting.to_state()}

    def load_state(self, state: State) -> None:
        """Go on from a saved state."""
        self._hosting.load_state(state)
        self.stack.adopt_heads(self._hosting.hosts)
        self.stack.load_state(state)


def _by_row(source: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """`source` as rows instead of clients."""
    place = np.argsort(rows)
    moved = source[rows]
    return np.where(moved >= 0, place[moved], -1)
