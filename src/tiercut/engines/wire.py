"""What activations and gradients lose on their way between machines.

`bf16` keeps eight bits of every value's digits. `int8` sends a byte per value and one scale per
sample. Both are rounded the same way every time. There is no error feedback: every message is about
other samples than the last, so that there is nothing to carry an error over to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from tiercut.cost.workload import WIRE_BYTES
from tiercut.scenario import Wire

LEVELS = 127
"""Steps of int8 on either side of zero."""

SMALLEST_SCALE = torch.finfo(torch.float32).tiny
"""Below this, float32 has too few digits for a scale, and in the end none but zero."""


def carried(values: Tensor, wire: Wire) -> Tensor:
    """Values as they arrive at the other end."""
    return unpack(pack(values, wire), wire, values.dtype)


def pack(values: Tensor, wire: Wire) -> list[Tensor]:
    """The tensors that travel in place of the values; for int8, levels and a scale per sample."""
    if wire == "bf16":
        return [values.to(torch.bfloat16)]
    if wire == "int8":
        return _levels_and_scales(values)
    return [values]


def unpack(parts: Sequence[Tensor], wire: Wire, dtype: torch.dtype) -> Tensor:
    """The values that the tensors of `pack` stand for."""
    if wire == "int8":
        levels, scales = parts
        values = levels.flatten(1).to(scales.dtype).mul_(scales.unsqueeze(1))
        return values.view_as(levels).to(dtype)
    (values,) = parts
    return values.to(dtype)


def _levels_and_scales(values: Tensor) -> list[Tensor]:
    """A sample with a NaN or an infinity has no finite scale: all of it arrives as NaN."""
    flat = values.flatten(1)
    largest = flat.abs().amax(1, keepdim=True).to(torch.float32)
    scales = (largest / LEVELS).clamp(min=SMALLEST_SCALE)
    levels = (flat / scales).round_().nan_to_num_(0).to(torch.int8)
    return [levels.view_as(values), scales.squeeze(1)]


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
