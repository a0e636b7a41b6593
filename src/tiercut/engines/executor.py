"""What an executor does: train the rows of a bucket, batch by batch, in place.

A bucket is a run of neighbouring rows whose models are cut at one layer, so that one computation
serves them all. Executors differ in how they run it, never in what it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tiercut.engines.chains import Chains
from tiercut.engines.feed import Feed
from tiercut.engines.optimiser import Optimiser
from tiercut.engines.stack import Stack


@dataclass(frozen=True, eq=False)
class Bucket:
    """Rows `first` to `last` (not included) of a stack, with the chains they compute."""

    stack: Stack
    chains: Chains
    cut: int | None
    first: int
    last: int
    shared: Mapping[str, NDArray[np.int64]]
    """Layers that rows on one host share as one model, with the host of each row.

    Their gradients are averaged every batch.
    """
    sends: tuple[frozenset[int], ...]
    """After which layers each row's activations travel; only where travelling changes them."""

    @property
    def optimiser(self) -> Optimiser:
        """What every row trains with."""
        return self.stack.task.optimiser

    @property
    def clients(self) -> NDArray[np.int64]:
        """The client of each row."""
        return self.stack.rows[self.first : self.last]


class Executor(Protocol):
    """Trains a bucket. `present` says which of its rows take part."""

    bucket: Bucket

    def train(self, feed: Feed, batches: range, present: NDArray[np.bool_]) -> None:
        """Backward and update, batch after batch, for those rows that are present and have data."""

    def take_losses(self) -> tuple[float, float]:
        """The sums over samples of the local and the final loss since the last call."""


class Stepwise(Executor, Protocol):
    """An executor that can be held up between gradients and update, for hosts that share."""

    def backward(self, feed: Feed, batch: int, present: NDArray[np.bool_]) -> None:
        """Put gradients into the stack (shared layers) or keep them (own layers)."""

    def update(self, layers: Sequence[str] | None, rows: NDArray[np.bool_]) -> None:
        """Step the own layers (None) or some shared ones of these rows."""


class Joint(Executor, Protocol):
    """An executor that averages shared gradients itself, with those of other buckets too."""

    def train_with(
        self,
        others: Sequence[Self],
        feed: Feed,
        batches: range,
        present: Sequence[NDArray[np.bool_]],
    ) -> None:
        """Train this bucket and others as one; `present` has the rows of each, its own first."""


class Factory(Protocol):
    """Makes an executor for a bucket; `gradients` has a stack for every shared parameter."""

    shares: bool
    """Whether its executors average shared gradients themselves: `Joint`, else `Stepwise`."""
    channels_last: bool
    """Whether it wants every row of convolution weights with its channels last in memory."""

    def __call__(
        self, bucket: Bucket, settings: Settings, gradients: dict[str, Tensor], /
    ) -> Executor:
        """An executor that trains the bucket's rows in place."""


@dataclass(frozen=True)
class Settings:
    """How to execute: where, and how precisely."""

    device: torch.device
    precision: str = "fp32"
    threads: int = 1

    @property
    def dtype(self) -> torch.dtype:
        """What weights are kept in."""
        return torch.float64 if self.precision == "fp64" else torch.float32

    @property
    def autocast(self) -> torch.dtype | None:
        """What products are computed in, if not in that."""
        return torch.bfloat16 if self.precision == "bf16" else None
