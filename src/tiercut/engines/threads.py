"""Executor `threads`: on a CPU, clients train in threads with one core each.

Convolutions at usual batch sizes keep a core busy on their own, so cores share clients rather than
operators: no barrier between layers, and results that do not depend on how many threads there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from tiercut.engines.convolution import take_shortcuts
from tiercut.engines.cores import spread
from tiercut.engines.executor import Bucket, Settings
from tiercut.engines.feed import Feed
from tiercut.engines.heap import keep_freed_memory
from tiercut.engines.row import Row, prototypes_of


class Threads:
    """Trains the rows of a bucket on the CPU."""

    channels_last = True
    shares = False

    def __init__(self, bucket: Bucket, settings: Settings, gradients: dict[str, Tensor]) -> None:
        self.bucket, self._threads = bucket, settings.threads
        keep_freed_memory()
        prototypes = prototypes_of(bucket)
        take_shortcuts(prototypes)
        self.rows = [
            Row(bucket, row, prototypes, gradients, settings.autocast)
            for row in range(bucket.first, bucket.last)
        ]
        self._losses = np.zeros((len(self.rows), 2))

    def train(self, feed: Feed, batches: range, present: NDArray[np.bool_]) -> None:
        """See Executor."""

        def epoch(index: int) -> None:
            for batch in batches:
                if self._backward(feed, batch, index):
                    self.rows[index].update(None)

        self._spread(epoch, present)

    def backward(self, feed: Feed, batch: int, present: NDArray[np.bool_]) -> None:
        """See Executor."""
        self._spread(lambda index: self._backward(feed, batch, index), present)

    def update(self, layers: Sequence[str] | None, rows: NDArray[np.bool_]) -> None:
        """See Executor."""
        self._spread(lambda index: self.rows[index].update(layers), rows)

    def _backward(self, feed: Feed, batch: int, index: int) -> bool:
        client = int(self.bucket.clients[index])
        if feed.sizes[client, batch] == 0:
            return False
        local, loss = self.rows[index].backward(*feed.one(client, batch))
        self._losses[index] += (0.0 if local is None else local.item(), loss.item())
        return True

    def _spread(self, work: Callable[[int], object], rows: NDArray[np.bool_]) -> None:
        spread(work, np.flatnonzero(rows).tolist(), self._threads)

    def take_losses(self) -> tuple[float, float]:
        """See Executor."""
        local, loss = self._losses.sum(axis=0)
        self._losses[:] = 0
        return float(local), float(loss)
