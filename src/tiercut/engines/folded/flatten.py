"""Flatten of folded activations, whose positions lie outside the channels and must go inside."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from tiercut.engines.folded.blocks import power
from tiercut.engines.folded.launch import launch


class _Flatten(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, inputs: Tensor) -> Tensor:
        ctx.shape = inputs.shape
        batch, height, width, clients, channels = inputs.shape
        result = inputs.new_empty(batch, 1, 1, clients, channels * height * width)
        _transpose(inputs, result, inputs.shape, back=False)
        return result

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        result = gradients[0].new_empty(ctx.shape)
        _transpose(gradients[0].contiguous(), result, ctx.shape, back=True)
        return result


def flatten(inputs: Tensor) -> Tensor:
    """[B, H, W, N, C] to [B, 1, 1, N, C * H * W], channel by channel."""
    if inputs.shape[1:3] == (1, 1):
        return inputs
    result: Tensor = _Flatten.apply(inputs)  # type: ignore[no-untyped-call]
    return result


def _transpose(source: Tensor, result: Tensor, shape: torch.Size, *, back: bool) -> None:
    from tiercut.engines.folded.kernels.flatten import transpose as kernel

    batch, height, width, clients, channels = shape
    plane = height * width
    rows = power(plane, 1, 64)
    chans = power(channels, 16, max(16, 4096 // rows))
    tiles = -(-plane // rows) * -(-channels // chans)
    grid = (clients, batch, tiles)
    launch(kernel, grid, source, result, clients, channels, plane, back, chans, rows)
