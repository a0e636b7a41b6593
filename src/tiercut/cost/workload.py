"""A model's work and sizes for one batch, with the spec's shorthand F, A and G."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from tiercut.cost.schemes import SchemeCost
from tiercut.errors import InputError
from tiercut.fleet import Fleet
from tiercut.models.profile import Profile
from tiercut.scenario import Wire

FLOAT_BYTES = 4
"""Profiles count activations as float32."""

WIRE_BYTES: dict[Wire, tuple[int, int]] = {"fp32": (FLOAT_BYTES, 0), "bf16": (2, 0), "int8": (1, 4)}
"""Bytes of a value on its way between machines, and of a sample beside its values (its scale)."""

ROUNDING = 1e-9
"""A product of floats may be this much above the whole number that it stands for."""

Layers = int | NDArray[np.int64]
Amount = NDArray[np.float64]


def sent_up(samples: int, share: float) -> int:
    """How many of a batch's samples go up to a server that wants a `share` of them.

    One alone never does, since batch statistics of one sample do not exist.
    """
    return min(samples, max(2, math.ceil(share * samples - ROUNDING)))


class Terms(Protocol):
    """What says how a round runs: a section of a scenario, a plan, a task."""

    @property
    def batch(self) -> int:
        """B, samples."""

    @property
    def epochs(self) -> int:
        """E, in a round."""

    @property
    def wire(self) -> Wire:
        """What activations and gradients are sent as."""

    @property
    def portions(self) -> int:
        """Of the data, one an epoch."""

    @property
    def server_share(self) -> float:
        """Of every batch, under a local loss."""


@dataclass(frozen=True)
class Workload:
    """A profile, with the batch size B and the epochs per round E. Layers may be arrays.

    `wire` is what activations and gradients are sent as; an epoch is one of `portions` of the data.
    Under a local loss the server trains on its `server_share` of every batch.
    """

    profile: Profile
    batch: int = 32
    epochs: int = 3
    wire: Wire = "fp32"
    portions: int = 1
    server_share: float = 1.0

    def __post_init__(self) -> None:
        """Refuse batches and rounds of nothing."""
        for name in ("batch", "epochs", "portions"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; expected at least 1")
        if not 0 < self.server_share <= 1:
            raise InputError(
                f"server_share is {self.server_share:g}; expected a share of every batch, more"
                f" than 0 and at most 1"
            )

    @classmethod
    def under(cls, terms: Terms, profile: Profile) -> Self:
        """A model's work in rounds on these terms."""
        how = terms.batch, terms.epochs, terms.wire, terms.portions, terms.server_share
        return cls(profile, *how)

    def batches(self, fleet: Fleet) -> int:
        """Q, the batches in an epoch of a fleet."""
        return fleet.batches_per_epoch(self.batch, self.portions)

    def forward(self, first: Layers, last: Layers) -> Amount:
        """F(i, j): forward FLOP of layers i..j for one batch; 0 where j = i - 1."""
        work: Amount = self._flops[np.asarray(last)] - self._flops[np.asarray(first) - 1]
        return work

    def weights(self, first: Layers, last: Layers) -> Amount:
        """A(i, j): bytes of the weights of layers i..j."""
        size: Amount = self._weights[np.asarray(last)] - self._weights[np.asarray(first) - 1]
        return size

    def activations(self, layer: Layers) -> Amount:
        """G_l: bytes of the activations after layer l, for one batch; gradients weigh the same."""
        return self.batch * self._sample(layer)

    def seen(self, scheme: SchemeCost) -> int:
        """Samples of a batch that go up to the server: all, where the gradient comes back."""
        return sent_up(self.batch, self.server_share) if scheme.local_loss else self.batch

    def upload(self, cut: Layers, scheme: SchemeCost) -> Amount:
        """Bytes of the activations of one batch that go up to the server."""
        return self.seen(scheme) * self._sample(cut)

    def above(self, cut: Layers, scheme: SchemeCost) -> Amount:
        """FLOP of the server for one batch of one client, forward and backward."""
        whole = 3 * self.forward(np.asarray(cut) + 1, self.profile.depth)
        work: Amount = whole * self.seen(scheme) / self.batch
        return work

    def head(self, layer: Layers) -> Amount:
        """Forward FLOP of the auxiliary head after layer l for one batch; 0 where none is known."""
        heads = self.profile.heads
        flops = [head.flops for head in heads] if heads else [0.0] * self.profile.depth
        work: Amount = self.batch * np.array(flops)[np.asarray(layer) - 1]
        return work

    def _sample(self, layer: Layers) -> Amount:
        """Bytes of one sample's activations after a layer."""
        value, sample = WIRE_BYTES[self.wire]
        values = self.profile.activation_bytes[np.asarray(layer) - 1] / FLOAT_BYTES
        size: Amount = values * value + sample
        return size

    @cached_property
    def _flops(self) -> Amount:
        return self.batch * _running_sum(self.profile.flops)

    @cached_property
    def _weights(self) -> Amount:
        return _running_sum(self.profile.weight_bytes)


def _running_sum(per_layer: NDArray[Any]) -> Amount:
    return np.concatenate([[0.0], np.cumsum(per_layer)])
