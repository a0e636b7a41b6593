"""What a probe found: every replica's accuracy after every epoch, and what follows from that.

Only the table of raw accuracies is read back from a file. Means, spreads and candidates are written
for people and scripts, and computed anew, so another threshold needs no training.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field, model_validator

from tiercut.documents import Document, check, check_version, read_json
from tiercut.errors import InputError

Floats = NDArray[np.float64]

ROUNDING = 1e-9
"""Percentage points: 95 % is within 1 of 96 %, whatever their difference is in binary."""

GUESSING = 0.1
"""Scores that are not this far on the way from guessing to perfection say nothing about cuts."""

Share = Annotated[float, Field(ge=0, le=1)]
Layer = Annotated[int, Field(ge=1)]
Epochs = Annotated[
    tuple[Annotated[tuple[Share, ...], Field(strict=False)], ...], Field(strict=False)
]


class Probe(Document):
    """How accurate the full model became at every cut tried; accuracies are from 0 to 1."""

    model_config = ConfigDict(extra="ignore")

    version: int = 1
    model: str
    scheme: str
    seed: int = Field(ge=0)
    clients: tuple[str, ...] = Field(strict=False, min_length=1)
    epochs: int = Field(ge=1)
    classes: int = Field(ge=2)
    held_out: int = Field(ge=1)
    """How many examples accuracy was measured on."""
    fingerprint: str
    """Of all that the accuracies depend on: data, initial weights, optimiser and so on."""
    threshold: float = Field(ge=0)
    """Percentage points that a candidate may be below the best, where nobody says otherwise."""
    cuts: tuple[Layer, ...] = Field(strict=False, min_length=1)
    missing: tuple[Layer, ...] = Field(default=(), strict=False)
    """Cuts that were asked for and not tried yet."""
    accuracy_of_clients: tuple[Epochs, ...] = Field(strict=False)
    """[cuts][epochs][clients]"""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if list(self.cuts) != sorted(set(self.cuts)):
            raise ValueError(f"cuts are {list(self.cuts)}; expected each once, from the shallowest")
        if len(self.accuracy_of_clients) != len(self.cuts):
            raise ValueError(
                f"accuracy_of_clients has {len(self.accuracy_of_clients)} entries and cuts has"
                f" {len(self.cuts)}; expected one for each cut"
            )
        for cut, epochs in zip(self.cuts, self.accuracy_of_clients, strict=True):
            if [len(epoch) for epoch in epochs] != [len(self.clients)] * self.epochs:
                raise ValueError(
                    f"accuracy_of_clients of cut {cut} is not {self.epochs} epochs of"
                    f" {len(self.clients)} clients"
                )
        return self

    @property
    def table(self) -> Floats:
        """Every client's accuracy: [cuts, epochs, clients]."""
        return np.array(self.accuracy_of_clients)

    @property
    def accuracy(self) -> Floats:
        """acc[v, e], the mean over the clients: [cuts, epochs]."""
        return np.asarray(self.table.mean(axis=2))

    @property
    def spread(self) -> Floats:
        """The standard deviation over the clients, of which one alone has none: [cuts, epochs]."""
        alone = len(self.clients) == 1
        return np.zeros(self.table.shape[:2]) if alone else self.table.std(axis=2, ddof=1)

    @property
    def scores(self) -> Floats:
        """acc(v), the mean over the epochs: [cuts]."""
        return np.asarray(self.accuracy.mean(axis=1))

    @property
    def guesses(self) -> bool:
        """Whether even the best cut is little better than guessing, so that V* means nothing."""
        chance = 1 / self.classes
        return bool(self.scores.max() < chance + GUESSING * (1 - chance))

    def candidates(self, threshold: float | None = None) -> tuple[int, ...]:
        """V*: the cuts whose score is within so many percentage points of the best."""
        points = self.threshold if threshold is None else threshold
        if not points >= 0:  # NaN is not either
            raise InputError(f"the threshold is {points}; expected 0 percentage points or more")
        below = 100 * (self.scores.max() - self.scores)
        return tuple(np.array(self.cuts)[below <= points + ROUNDING].tolist())

    def to_dict(self) -> dict[str, Any]:
        """The probe file's JSON object."""
        raw = self.model_dump(mode="json")
        return {
            **raw,
            "accuracy": self.accuracy.tolist(),
            "spread": self.spread.tolist(),
            "scores": self.scores.tolist(),
            "candidates": list(self.candidates()),
        }


def results_of(probe: Probe) -> dict[int, Floats]:
    """The accuracies [epochs, clients] of each cut."""
    return dict(zip(probe.cuts, probe.table, strict=True))


def with_results(facts: Mapping[str, Any], results: Mapping[int, Floats]) -> Probe:
    """The probe that found `results`; `facts` are its other fields."""
    found = dict(sorted(results.items()))
    raw = [accuracies.tolist() for accuracies in found.values()]
    return Probe(**facts, cuts=tuple(found), accuracy_of_clients=raw)


def read_probe(path: Path) -> Probe:
    """The probe in a file."""
    data = read_json(path)
    check_version(data, str(path), "probe")
    return check(Probe, data, str(path))
