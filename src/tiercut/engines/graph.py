"""Executor `graph`: on a GPU, every client's step is captured once and replayed side by side.

A step of a small batch is a hundred short kernels; launching them from Python takes longer than
running them. A captured step is one launch, and takes any module. There is a graph for each row and
each size its batches have, so that short batches need no padding and absent clients no mask. Graphs
run on several streams, and a row counts its own batches on the device, so that no row waits for
another within an epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tiercut.engines.executor import Bucket, Settings
from tiercut.engines.feed import Feed
from tiercut.engines.row import Row, prototypes_of
from tiercut.engines.shadows import make_shadows, refresh

STREAMS = 16
WARM_UPS = 2
"""Steps before a capture, in which libraries choose their kernels."""

What = tuple[str, int, object]
"""A captured piece of work: its kind, its row, and what else it depends on."""


class Graph:
    """Trains the rows of a bucket on a CUDA device."""

    channels_last = True
    shares = False

    def __init__(self, bucket: Bucket, settings: Settings, gradients: dict[str, Tensor]) -> None:
        self.bucket, self._device = bucket, settings.device
        allow_tf32(settings.precision == "tf32")
        prototypes = prototypes_of(bucket)
        if bucket.shared:
            gradients = _all_gradients(bucket, gradients)
        self._shadows = make_shadows(bucket, prototypes, settings.autocast)
        self.rows = [
            Row(bucket, row, prototypes, gradients, settings.autocast, self._shadows)
            for row in range(bucket.first, bucket.last)
        ]
        streams = min(STREAMS, len(self.rows))
        self._streams = [torch.cuda.Stream(self._device) for _ in range(streams)]
        # Graphs of one stream never run at once, so they may use the same memory.
        self._pools = [torch.cuda.graph_pool_handle() for _ in range(streams)]
        self._graphs: dict[What, torch.cuda.CUDAGraph] = {}
        self._batch = torch.zeros(len(self.rows), dtype=torch.int64, device=self._device)
        """The next batch of each row."""
        self._losses = torch.zeros(len(self.rows), 2, dtype=torch.float64, device=self._device)
        self._warm: set[int] = set()

    def train(self, feed: Feed, batches: range, present: NDArray[np.bool_]) -> None:
        """See Executor."""

        def step(index: int, size: int) -> None:
            self._backward(feed, index, size)
            self.rows[index].update(None)

        self._run("step", step, feed, batches, present)

    def backward(self, feed: Feed, batch: int, present: NDArray[np.bool_]) -> None:
        """See Executor."""

        def backward(index: int, size: int) -> None:
            self._backward(feed, index, size)

        self._run("backward", backward, feed, range(batch, batch + 1), present)

    def update(self, layers: Sequence[str] | None, rows: NDArray[np.bool_]) -> None:
        """See Executor."""
        key = None if layers is None else tuple(layers)
        wanted = np.flatnonzero(rows).tolist()
        for index in wanted:
            self._capture(("update", index, key), partial(self.rows[index].update, layers))
        with self._side_by_side():
            for index in wanted:
                self._replay(("update", index, key))

    def take_losses(self) -> tuple[float, float]:
        """See Executor."""
        local, loss = self._losses.sum(0).tolist()
        self._losses.zero_()
        return local, loss

    def _backward(self, feed: Feed, index: int, size: int) -> None:
        client = int(self.bucket.clients[index])
        images, labels = feed.at(client, self._batch[index], size)
        local, loss = self.rows[index].backward(images, labels)
        self._losses[index, 1] += loss
        if local is not None:
            self._losses[index, 0] += local
        self._batch[index] += 1

    def _run(
        self,
        kind: str,
        work: Callable[[int, int], None],
        feed: Feed,
        batches: range,
        present: NDArray[np.bool_],
    ) -> None:
        sizes = feed.sizes[self.bucket.clients][:, batches.start : batches.stop]
        rows = np.flatnonzero(present).tolist()
        for index in rows:
            for size in np.unique(sizes[index][sizes[index] > 0]).tolist():
                self._warm_up(work, index, size)
                self._capture((kind, index, size), partial(work, index, size))
        self._batch.fill_(batches.start)
        refresh(self.bucket, self._shadows)
        with self._side_by_side():
            for batch in range(len(batches)):
                for index in rows:
                    if sizes[index, batch]:
                        self._replay((kind, index, int(sizes[index, batch])))

    def _capture(self, what: What, work: Callable[[], None]) -> None:
        if what in self._graphs:
            return
        at = what[1] % len(self._streams)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pools[at], stream=self._streams[at]):
            work()
        self._graphs[what] = graph

    def _warm_up(self, work: Callable[[int, int], None], index: int, size: int) -> None:
        """Run a step of this size for real, once for all rows, and undo what it did."""
        if size in self._warm:
            return
        self._warm.add(size)
        touched = [*self.rows[index].tensors(), self._losses, self._batch]
        before = [tensor.clone() for tensor in touched]
        with torch.cuda.stream(self._streams[0]):
            self._streams[0].wait_stream(torch.cuda.default_stream(self._device))
            for _ in range(WARM_UPS):
                self._batch.zero_()
                work(index, size)
        torch.cuda.synchronize(self._device)
        for tensor, value in zip(touched, before, strict=True):
            tensor.copy_(value)

    @contextmanager
    def _side_by_side(self) -> Iterator[None]:
        """Streams start after what came before, and what comes after waits for them."""
        current = torch.cuda.current_stream(self._device)
        for stream in self._streams:
            stream.wait_stream(current)
        yield
        for stream in self._streams:
            current.wait_stream(stream)

    def _replay(self, what: What) -> None:
        with torch.cuda.stream(self._streams[what[1] % len(self._streams)]):
            self._graphs[what].replay()


def _all_gradients(bucket: Bucket, shared: dict[str, Tensor]) -> dict[str, Tensor]:
    """Gradients that outlive a graph: here one captured piece makes them and another uses them."""
    stack = bucket.stack
    own = {key: stack.weights[key] for key in stack.moments if key not in shared}
    return {**shared, **{key: torch.zeros_like(value) for key, value in own.items()}}


def allow_tf32(allowed: bool) -> None:
    """Let float32 products use the matrix units' short form, or not."""
    torch.backends.cuda.matmul.allow_tf32 = allowed
    torch.backends.cudnn.allow_tf32 = allowed
