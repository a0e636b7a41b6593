"""What is trained, on what, and how: the same values for every engine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from tiercut.cost import Placement, RoundSeconds
from tiercut.cost.workload import sent_up
from tiercut.engines.optimiser import Optimiser
from tiercut.errors import InputError
from tiercut.fleet import check_portions
from tiercut.models.heads import HeadKind, build_head
from tiercut.models.layered import LayeredModel
from tiercut.models.trace import activation_shapes, classes_in
from tiercut.models.zoo import build_model
from tiercut.scenario import Wire
from tiercut.schemes import Scheme
from tiercut.seeds import Seeds


@dataclass(frozen=True, eq=False)
class Examples:
    """Samples and labels, and what normalises the samples (per channel, of values in 0..1)."""

    images: NDArray[np.uint8] | NDArray[np.float32]
    labels: NDArray[np.int64]
    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)


@dataclass(frozen=True, eq=False)
class Whole:
    """The task that another is a part of: how its clients are counted there."""

    numbers: NDArray[np.int64]
    """Of the clients in the part; plans of its rounds name aggregators so."""
    clients: int
    """How many there are."""
    batches: int
    """In an epoch, for whoever has most; all parts keep that pace."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Brief(ABC):
    """What is trained by whom, and how: all that nodes must agree on. The data is not in it.

    `model` holds the initial weights and is never changed.
    """

    model: LayeredModel
    scheme: Scheme
    optimiser: Optimiser
    outer_momentum: float = 0.0
    """A round starts ahead of what the last one came to by this share of the way that it came."""
    clients: tuple[str, ...]
    batch: int
    epochs: int
    portions: int = 1
    """An epoch is one of so many portions of every client's examples."""
    seeds: Seeds
    head: HeadKind | None = None
    wire: Wire = "fp32"
    server_share: float = 1.0
    """Under a local loss the server trains on this share of every batch."""
    streams: tuple[str, ...] | None = None
    """Whose random streams each client uses, where not its own: replicas of one client agree."""
    whole: Whole | None = None
    """Where this is a part of a larger task."""

    def __post_init__(self) -> None:
        """Refuse what would only fail in the middle of training."""
        if len(set(self.clients)) != len(self.clients):
            raise InputError("two clients have the same name; give every client its own")
        for name, count in zip(self.clients, self.counts, strict=True):
            if count == 0:
                raise InputError(f"client {name!r} has no training example; give it at least one")
        check_portions(self.clients, self.counts, self.portions)

    @property
    @abstractmethod
    def counts(self) -> tuple[int, ...]:
        """How many examples each client has."""

    @cached_property
    def classes(self) -> int:
        """How many the model tells apart."""
        return classes_in(self.model, self.shapes[-1])

    @property
    def sources(self) -> tuple[str, ...]:
        """Whose random streams each client uses."""
        return self.clients if self.streams is None else self.streams

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """Clients by name: engines go through them so, and no sum depends on their numbering."""
        return np.array(sorted(range(len(self.clients)), key=self.clients.__getitem__))

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """What an average weighs each client with: its number of examples."""
        return np.array(self.counts, dtype=np.float64)

    @cached_property
    def shapes(self) -> list[tuple[int, ...]]:
        """What comes out of every layer, for one sample."""
        return [tuple(shape) for shape in activation_shapes(self.model)]

    def sent_up(self, samples: int) -> int:
        """How many of a batch's samples go up to the server; a gradient comes back for all."""
        return sent_up(samples, self.server_share) if self.scheme.local_loss else samples

    @cached_property
    def seen(self) -> NDArray[np.int64]:
        """The same for batches of no samples, of one, and so on."""
        largest = min(self.batch, max(self.counts, default=0))
        return np.array([self.sent_up(size) for size in range(largest + 1)], dtype=np.int64)

    def build_head(self, cut: int) -> nn.Module:
        """The auxiliary head at layer `cut`, with its initial weights."""
        kind = self.model.head if self.head is None else self.head
        with seeded(self.seeds.integer("head", cut)):
            return build_head(kind, self.shapes[cut - 1], self.classes)


@dataclass(frozen=True, eq=False, kw_only=True)
class Task(Brief):
    """A model to be trained by a scheme on data that is here.

    `shards[n]` are the rows of `examples` that client n has.
    """

    examples: Examples
    shards: tuple[NDArray[np.int64], ...]
    augment: bool = False

    def __post_init__(self) -> None:
        """Refuse data that the model cannot take."""
        super().__post_init__()
        if self.whole is not None:
            return  # which was looked at
        shape = tuple(self.examples.images.shape[1:])
        if shape != self.model.input_shape:
            raise InputError(
                f"{self.model.name} takes samples of shape {self.model.input_shape} and the data"
                f" has {shape}; choose a model and a data set that fit"
            )
        if self.examples.labels.max(initial=0) >= self.classes:
            raise InputError(
                f"{self.model.name} tells {self.classes} classes apart and the data has label"
                f" {self.examples.labels.max()}; choose a model and a data set that fit"
            )

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """See Brief."""
        return tuple(len(shard) for shard in self.shards)

    def part(
        self,
        clients: tuple[str, ...],
        streams: tuple[str, ...],
        shards: tuple[NDArray[np.int64], ...],
        whole: Whole,
    ) -> Task:
        """The same task for some of the clients, who share the samples with all others."""
        part = replace(self, clients=clients, streams=streams, shards=shards, whole=whole)
        vars(part).update(shapes=self.shapes, classes=self.classes)  # found out once, by a dry run
        return part

    def portion(self, client: int) -> Task:
        """What client number `client` has of the task: its own samples, and nobody else's."""
        rows, examples = self.shards[client], self.examples
        own = replace(examples, images=examples.images[rows], labels=examples.labels[rows])
        return replace(
            self,
            clients=(self.clients[client],),
            streams=(self.sources[client],),
            examples=own,
            shards=(np.arange(len(rows)),),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class RemoteTask(Brief):
    """A model to be trained by a scheme on data that is elsewhere."""

    held: tuple[int, ...]
    """How many examples each client has."""

    @property
    def counts(self) -> tuple[int, ...]:
        """See Brief."""
        return self.held


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Torch's own randomness from a seed, and as it was before when this is over."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


def build_initial(
    spec: str,
    seeds: Seeds,
    *,
    classes: int | None = None,
    input_shape: Sequence[int] | None = None,
) -> LayeredModel:
    """The model that `spec` names, with the initial weights that the seed gives."""
    with seeded(seeds.integer("weights")):
        return build_model(spec, classes=classes, input_shape=input_shape)


@dataclass(frozen=True, eq=False)
class Round:
    """Who does what in one round. Rounds count from 0; arrays are in the order of the clients."""

    index: int
    placement: Placement
    present: NDArray[np.bool_]
    """[epochs, clients]: who trains in each epoch; nobody comes back within a round."""
    expected: RoundSeconds | None = None
    """How long it should take, where somebody planned it."""


def everybody(task: Task, index: int, placement: Placement) -> Round:
    """A round in which all take part to the end."""
    return Round(index, placement, np.ones((task.epochs, len(task.clients)), dtype=np.bool_))


@dataclass(frozen=True)
class Measured:
    """What a round took on real machines."""

    download: float
    """Seconds until everybody had its weights."""
    training: float
    """Seconds of all epochs."""
    upload: float
    """Seconds from then until the server had everything."""
    bytes: Mapping[str, int]
    """By kind of message, sender's and receiver's role."""
    lost: int
    """Clients that failed in it."""

    @property
    def seconds(self) -> float:
        """The whole round."""
        return self.download + self.training + self.upload


@dataclass(frozen=True)
class Trained:
    """What one round did: losses are means over the samples of those who computed them."""

    samples: int
    local_loss: float | None
    loss: float
    measured: Measured | None = None
    """Where machines were real."""

    @classmethod
    def over(
        cls,
        task: Brief,
        sizes: NDArray[np.int64],
        losses: Sequence[float],
        measured: Measured | None = None,
    ) -> Trained:
        """What batches of these `sizes` came to; `losses` are summed, the local and the final."""
        samples, seen = int(sizes.sum()), int(task.seen[sizes].sum())
        local, final = losses[0] / max(samples, 1), losses[1] / max(seen, 1)
        return cls(samples, local if task.scheme.local_loss else None, final, measured)


class RoundLost(Exception):
    """A round cannot be finished with who is left; it starts again."""


State = dict[str, Tensor]

OnEpoch = Callable[[int], None]
"""Told the number of epochs done in a round, so that somebody may look or show it."""


def quiet(_: int) -> None:
    """Tell nobody."""
