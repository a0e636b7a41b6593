"""What activations and gradients lose on their way between machines.

`bf16` keeps eight bits of every value's digits. `int8` sends a byte per value and one scale per
sample. Both are rounded the same way every time. There is no error feedback: every message is about
other samples than the last, so that there is nothing to carry an error over to.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from tiercut.cost.workload import WIRE_BYTES
from tiercut.scenario import Wire

LEVELS = 127
"""Steps of int8 on either side of zero."""


def carried(values: Tensor, wire: Wire) -> Tensor:
    """Values as they arrive at the other end."""
    if wire == "bf16":
        return values.to(torch.bfloat16).to(values.dtype)
    if wire == "int8":
        return _round_to_levels(values)
    return values


def _round_to_levels(values: Tensor) -> Tensor:
    flat = values.flatten(1)
    largest = flat.abs().amax(1, keepdim=True)
    scale = torch.where(largest > 0, largest / LEVELS, 1.0)
    return ((flat / scale).round() * scale).view_as(values)


def size_on_wire(values: Tensor, wire: Wire) -> int:
    """The bytes that a message about these samples takes; float64 is only for tests."""
    value, sample = WIRE_BYTES[wire]
    return values.numel() * value + len(values) * sample


class _Send(torch.autograd.Function):
    """Activations are rounded on their way up, and their gradients on the way down."""

    @staticmethod
    def forward(context: Any, values: Tensor, wire: Wire) -> Tensor:
        """See `send`."""
        context.wire = wire
        return carried(values, wire)

    @staticmethod
    def backward(context: Any, gradients: Tensor) -> tuple[Tensor, None]:
        """The gradient comes back the same way."""
        return carried(gradients, context.wire), None


def send(values: Tensor, wire: Wire) -> Tensor:
    """Send activations inside one computation, and their gradient back."""
    sent: Tensor = _Send.apply(values, wire)  # type: ignore[no-untyped-call]
    return sent
