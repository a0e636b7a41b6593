"""The clients' batches: who sees which samples when, from the seed alone.

All samples stay on the device as they were read (one byte a value for images); a batch is a gather
and a normalisation there.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tiercut.data.augment import augment, draw
from tiercut.engines.task import Examples, Task


def batch_sizes(examples: int, batch: int, portions: int = 1) -> list[int]:
    """The sizes of a client's batches in an epoch, which is one of equal portions of its examples.

    What does not go evenly into portions is skipped, and so is a single left-over sample, since
    batch statistics of one sample do not exist; another shuffle brings it in. A client with one
    sample has no other.
    """
    full, rest = divmod(examples // portions, batch)
    return [batch] * full + ([rest] if rest > 1 or (rest and not full) else [])


def view(array: NDArray[Any], device: torch.device) -> Tensor:
    """An array as a tensor, without a copy where the device can read it; not to be written to."""
    with warnings.catch_warnings():
        # Data sets are read-only, and torch has no tensors that are.
        warnings.filterwarnings("ignore", "The given NumPy array is not writable", UserWarning)
        return torch.from_numpy(array).to(device)


class Feed:
    """Batches of the epoch that was started last."""

    def __init__(self, task: Task, device: torch.device, dtype: torch.dtype) -> None:
        self.task, self.device, self.dtype = task, device, dtype
        examples = task.examples
        self.images = view(examples.images, device)
        self.labels = view(examples.labels, device)
        self.normal = Normal(task.examples, device, dtype)
        per_client = [batch_sizes(count, task.batch, task.portions) for count in task.counts]
        self.batches = task.whole.batches if task.whole else max(map(len, per_client))
        """Q, the batches in an epoch."""
        self.sizes: NDArray[np.int64] = np.zeros((len(task.clients), self.batches), dtype=np.int64)
        for row, sizes in zip(self.sizes, per_client, strict=True):
            row[: len(sizes)] = sizes
        width = self.batches * task.batch
        self._rows = torch.zeros((len(task.clients), width), dtype=torch.int64, device=device)
        self._draws = torch.zeros((len(task.clients), width, 3), dtype=torch.uint8, device=device)
        self._places = torch.arange(task.batch, device=device)
        self._epoch: int | None = None

    def start_epoch(self, epoch: int) -> None:
        """Take every client's samples for epoch number `epoch` of the whole training.

        They are shuffled once for all the portions that they are taken in.
        """
        if epoch == self._epoch:
            return
        self._epoch = epoch
        shuffle, portion = divmod(epoch, self.task.portions)
        rows = np.zeros(tuple(self._rows.shape), dtype=np.int64)
        draws = np.zeros(tuple(self._draws.shape), dtype=np.uint8)
        for n, (client, shard) in enumerate(zip(self.task.sources, self.task.shards, strict=True)):
            used = int(self.sizes[n].sum())
            first = portion * (len(shard) // self.task.portions)
            shuffled = self.task.seeds.stream("order", client, shuffle).permutation(shard)
            rows[n, :used] = shuffled[first : first + used]
            if self.task.augment:
                draws[n, :used] = draw(self.task.seeds, client, epoch, used)
        self._rows.copy_(torch.from_numpy(rows))
        self._draws.copy_(torch.from_numpy(draws))

    def one(self, client: int, batch: int) -> tuple[Tensor, Tensor]:
        """One client's samples and labels in a batch."""
        start = batch * self.task.batch
        here = slice(start, start + int(self.sizes[client, batch]))
        return self._gather(self._rows[client, here], self._draws[client, here])

    def at(self, client: int, batch: Tensor, size: int) -> tuple[Tensor, Tensor]:
        """The same for a batch whose number is on the device, as a captured graph needs it."""
        columns = torch.add(self._places[:size], batch, alpha=self.task.batch)
        return self._gather(self._rows[client][columns], self._draws[client][columns])

    def all(self, clients: Tensor, batch: int) -> tuple[Tensor, Tensor]:
        """Samples [R, B, ...] and labels [R, B] of many clients; short batches are padded."""
        here = slice(batch * self.task.batch, (batch + 1) * self.task.batch)
        rows, draws = self._rows[clients, here], self._draws[clients, here]
        images, labels = self._gather(rows.flatten(), draws.flatten(0, 1))
        return images.view(*rows.shape, *images.shape[1:]), labels.view(rows.shape)

    def _gather(self, rows: Tensor, draws: Tensor) -> tuple[Tensor, Tensor]:
        images = self.images[rows]
        if self.task.augment:
            images = augment(images, draws)
        return self.normal(images), self.labels[rows]


class Normal:
    """Samples as the model sees them: 0..255 becomes 0..1, then mean 0 and deviation 1."""

    def __init__(self, examples: Examples, device: torch.device, dtype: torch.dtype) -> None:
        shape = (-1, *(1 for _ in examples.images.shape[2:]))
        scale = 255.0 if examples.images.dtype == np.uint8 else 1.0
        mean, std = (torch.tensor(v, dtype=torch.float64) for v in (examples.mean, examples.std))
        # One multiplication and one addition instead of two of each.
        self._factor = (1 / (scale * std)).view(shape).to(device, dtype)
        self._offset = (-mean / std).view(shape).to(device, dtype)
        self._dtype = dtype

    def __call__(self, images: Tensor) -> Tensor:
        """Normalise a batch of samples."""
        return images.to(self._dtype) * self._factor + self._offset
