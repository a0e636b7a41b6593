"""A model's work and sizes for one batch, with the spec's shorthand F, A and G."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiercut.errors import InputError
from tiercut.fleet import Fleet
from tiercut.models.profile import Profile
from tiercut.scenario import Wire

FLOAT_BYTES = 4
"""Profiles count activations as float32."""

WIRE_BYTES: dict[Wire, tuple[int, int]] = {"fp32": (FLOAT_BYTES, 0), "bf16": (2, 0), "int8": (1, 4)}
"""Bytes of a value on its way between machines, and of a sample beside its values (its scale)."""

Layers = int | NDArray[np.int64]
Amount = NDArray[np.float64]


@dataclass(frozen=True)
class Workload:
    """A profile, with the batch size B and the epochs per round E. Layers may be arrays.

    `wire` is what activations and gradients are sent as; an epoch is one of `portions` of the data.
    """

    profile: Profile
    batch: int = 32
    epochs: int = 3
    wire: Wire = "fp32"
    portions: int = 1

    def __post_init__(self) -> None:
        """Refuse batches and rounds of nothing."""
        for name in ("batch", "epochs", "portions"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; expected at least 1")

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
        value, sample = WIRE_BYTES[self.wire]
        values = self.profile.activation_bytes[np.asarray(layer) - 1] / FLOAT_BYTES
        size: Amount = self.batch * (values * value + sample)
        return size

    def head(self, layer: Layers) -> Amount:
        """Forward FLOP of the auxiliary head after layer l for one batch; 0 where none is known."""
        heads = self.profile.heads
        flops = [head.flops for head in heads] if heads else [0.0] * self.profile.depth
        work: Amount = self.batch * np.array(flops)[np.asarray(layer) - 1]
        return work

    @cached_property
    def _flops(self) -> Amount:
        return self.batch * _running_sum(self.profile.flops)

    @cached_property
    def _weights(self) -> Amount:
        return _running_sum(self.profile.weight_bytes)


def _running_sum(per_layer: NDArray[Any]) -> Amount:
    return np.concatenate([[0.0], np.cumsum(per_layer)])
