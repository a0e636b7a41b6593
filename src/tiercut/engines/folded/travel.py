"""Activations that travel between machines in the middle of a chain, and arrive rounded."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from tiercut.engines.folded.blocks import power
from tiercut.engines.folded.launch import launch
from tiercut.engines.wire import LEVELS, SMALLEST_SCALE, carried, send
from tiercut.scenario import Wire

TILE, WARPS = 4096, 8
"""Values of a sample that a program has at a time, and its warps."""


class Travel(nn.Module):
    """Stands between two layers: the activations of some clients are sent there, `[N]` booleans.

    Their gradients come back the same way. With `kernels` a kernel does it.
    """

    def __init__(self, wire: Wire, clients: Tensor, *, kernels: bool = False) -> None:
        super().__init__()
        self.wire, self.clients, self.kernels = wire, clients, kernels

    def forward(self, values: Tensor) -> Tensor:
        """See the class; `values` are folded."""
        if self.kernels and self.wire == "int8":
            found: Tensor = _Send.apply(values, self.clients)  # type: ignore[no-untyped-call]
            return found
        sent = _folded(send(_by_sample(values), self.wire), values)
        return sent.where(self.clients.unsqueeze(1), values)


def arrived(values: Tensor, wire: Wire, *, kernels: bool = False) -> Tensor:
    """Folded activations of all clients at the other end."""
    if wire == "fp32":
        return values
    if kernels and wire == "int8":
        return _carry(values, values.new_ones(values.shape[3], dtype=torch.bool))
    return _folded(carried(_by_sample(values), wire), values)


class _Send(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, clients: Tensor) -> Tensor:
        ctx.clients = clients
        return _carry(values, clients)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        return _carry(gradients[0], ctx.clients), None


def _carry(values: Tensor, clients: Tensor) -> Tensor:
    """What int8 leaves of the samples of some clients, in one kernel instead of a dozen."""
    from tiercut.engines.folded.kernels.travel import carry as kernel

    values = values.contiguous()
    result = torch.empty_like(values)
    batch, height, width, count, channels = values.shape
    plane = height * width
    chans = power(channels, 16, 256)
    rows = power(plane, 1, TILE // chans)
    launch(
        kernel,
        (count, batch),
        values,
        result,
        clients,
        count,
        channels,
        plane,
        float(LEVELS),
        SMALLEST_SCALE,
        rows,
        chans,
        num_warps=WARPS,
    )
    return result


def _by_sample(values: Tensor) -> Tensor:
    """From [B, H, W, N, C] to [B N, H, W, C]: rounding looks at one sample at a time."""
    return values.permute(0, 3, 1, 2, 4).flatten(0, 1)


def _folded(samples: Tensor, like: Tensor) -> Tensor:
    batch, _, _, clients, _ = like.shape
    by_batch = samples.view(batch, clients, *samples.shape[1:])
    return by_batch.permute(0, 2, 3, 1, 4).contiguous()
