"""What is kept of a round: one line of rounds.jsonl."""

from __future__ import annotations

import json

from pydantic import Field

from tiercut.documents import Document


class Phases(Document):
    """Seconds of a round."""

    download: float
    training: float
    upload: float
    round: float


class Traffic(Document):
    """Bytes of a round, by where they go."""

    between: float
    """Clients and aggregators."""
    server: float
    """Aggregators and server: activations and gradients."""
    weights: float
    """Layers down and up."""


class RealRound(Document):
    """A round on real devices: what the plan said, and what was measured."""

    attempts: int = Field(ge=1)
    """How often it was started."""
    predicted: Phases
    measured: Phases
    predicted_bytes: Traffic
    measured_bytes: Traffic


class Record(Document):
    """One round. In a simulation all but `wall_seconds` and what follows comes from the seed."""

    round: int = Field(ge=1)
    accuracy: float
    """Share of the test samples that the averaged model gets right."""
    loss: float
    """On the test samples."""
    train_loss: float
    """At the server, mean over the round's samples."""
    local_loss: float | None
    """At the cut; None where the scheme has no local loss."""
    round_seconds: float
    """What the round took on the virtual clock."""
    seconds: float
    """On the virtual clock since the start."""
    round_bytes: float
    bytes: float
    samples: int
    clients: int
    """Who was to take part."""
    lost: int
    """How many of them failed before the round's end."""
    aggregator_layer: int | None
    cut_layer: int | None
    """None where clients have different ones."""
    cut_layers: tuple[int, ...] | None = Field(strict=False)
    """The different ones, from shallow to deep."""
    aggregators: int | None
    """None on two tiers."""
    replanned: bool
    """Whether the fleet changed before this round."""
    gain: float | None
    """The share of a round that the new plan saves over the old one."""
    wall_seconds: float
    """What the round took in this process: planning, training and measuring."""
    samples_per_second: float
    """Of training alone."""
    real: RealRound | None = None
    """Where devices were real."""

    def to_line(self) -> str:
        """The record as one line of JSON."""
        return json.dumps(self.model_dump(mode="json"), allow_nan=False) + "\n"


WALL_CLOCK = ("wall_seconds", "samples_per_second", "real")
"""The fields that differ between two runs of the same setting."""
