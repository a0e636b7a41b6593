"""What every cut is tried on: one model, the same clients, the same data and the same shuffles."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiercut.data import Dataset, Split, partition
from tiercut.engines.optimiser import Optimiser
from tiercut.engines.task import Examples, Task, build_initial
from tiercut.fleet import Fleet
from tiercut.models.layered import LayeredModel
from tiercut.probe.held_out import draw_clients, hold_out
from tiercut.scenario import Scenario, TrainingSection
from tiercut.schemes import Part, find_scheme
from tiercut.seeds import Seeds

SCHEME = find_scheme("locsfl").with_intervals({Part.SERVER: "round"})
"""A local loss at the cut; the probe is one round, so replicas never meet."""


@dataclass(frozen=True, eq=False)
class Trial:
    """All that a cut's accuracies depend on, but the cut; `model` has the initial weights."""

    model: LayeredModel
    clients: tuple[str, ...]
    shards: tuple[NDArray[np.int64], ...]
    examples: Examples
    held_out: Examples
    training: TrainingSection
    augment: bool
    epochs: int
    seeds: Seeds

    @property
    def optimiser(self) -> Optimiser:
        """What every replica trains with."""
        section = self.training
        return Optimiser(section.optimiser, section.rate, section.momentum, section.weight_decay)

    def task(self, cuts: Sequence[int]) -> Task:
        """The training of every client at every one of these cuts, cut by cut."""
        return Task(
            model=self.model,
            scheme=SCHEME,
            optimiser=self.optimiser,
            examples=self.examples,
            clients=tuple(f"{client}@{cut}" for cut in cuts for client in self.clients),
            shards=self.shards * len(cuts),
            batch=self.training.batch,
            epochs=self.epochs,
            seeds=self.seeds,
            head=self.training.head,
            augment=self.augment,
            streams=self.clients * len(cuts),
        )

    def fingerprint(self, precision: str) -> str:
        """The same for trials that give the same accuracies, and for no others."""
        plain = (
            (self.seeds.root, self.epochs, self.clients, self.augment, precision),
            self.optimiser,
            (self.training.batch, self.training.head, str(self.model)),
            (self.examples.mean, self.examples.std),
        )
        digest = hashlib.sha256(repr(plain).encode())
        for tensor in self.model.state_dict().values():
            digest.update(tensor.numpy().tobytes())
        seen = [(self.examples.images[s], self.examples.labels[s]) for s in self.shards]
        for images, labels in (*seen, (self.held_out.images, self.held_out.labels)):
            digest.update(images.tobytes())
            digest.update(labels.tobytes())
        return digest.hexdigest()


def prepare(scenario: Scenario, data: Dataset, fleet: Fleet) -> Trial:
    """The trial that a scenario asks for, on some clients of its fleet."""
    seeds = Seeds(scenario.seed)
    parts = partition(data.train.labels, fleet.examples, scenario.data, seeds)
    chosen = draw_clients(len(fleet), scenario.probe.clients, seeds)
    held_out, shards = hold_out(data, [parts[n] for n in chosen], scenario.probe.held_out, seeds)
    section = scenario.model
    return Trial(
        build_initial(
            section.name, seeds, classes=len(data.classes), input_shape=section.input_shape
        ),
        tuple(fleet.names[n] for n in chosen),
        tuple(shards),
        _examples(data, data.train),
        _examples(data, held_out),
        scenario.training,
        scenario.data.augment,
        scenario.probe.epochs,
        seeds,
    )


def _examples(data: Dataset, split: Split) -> Examples:
    return Examples(split.images, split.labels, data.mean, data.std)
