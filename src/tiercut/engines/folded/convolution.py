"""Convolution with per-client weights, as an autograd function over the Triton kernels.

The function takes the float32 parameter for its gradient and the bf16 shadow for its value. The
gradient of a weight comes back in float32, [N, J, K, kh, kw] by shape and taps before K in memory.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from tiercut.engines.folded.blocks import (
    for_convolve,
    for_weigh,
    library_weigh,
    power,
    splits,
)
from tiercut.engines.folded.fork import Fork
from tiercut.engines.folded.geometry import Geometry
from tiercut.engines.folded.launch import launch

NARROW = 16
"""Images of fewer channels than a product is deep are unrolled into columns first."""

ALIGNED = 8
"""Library products are fast on rows of 16 bytes, eight bf16 values, and multiples of that."""


class _Convolution(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,
        weight: Tensor,
        shadow: Tensor,
        geometry: Geometry,
        fork: Fork | None,
    ) -> Tensor:
        ctx.save_for_backward(inputs, shadow)
        ctx.geometry, ctx.shape, ctx.fork = geometry, weight.shape, fork
        return forward(inputs, shadow, geometry)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        inputs, shadow = ctx.saved_tensors
        gradient = gradients[0].contiguous()
        towards = None
        if ctx.needs_input_grad[0]:
            around = ctx.fork.gradient if ctx.fork is not None else None
            towards = backward_input(gradient, shadow, ctx.geometry, inputs.shape, around)
        weights = backward_weight(inputs, gradient, shadow.shape, ctx.geometry)
        return towards, unpacked(weights, ctx.shape), None, None, None


def convolve(
    inputs: Tensor,
    weight: Tensor,
    shadow: Tensor,
    geometry: Geometry,
    fork: Fork | None = None,
) -> Tensor:
    """Convolve [B, H, W, N, K] with `shadow`, the packed bf16 copy of `weight`."""
    if shadow.shape[3] != inputs.shape[4]:
        inputs = unroll(inputs, geometry)
        geometry = Geometry()
    result: Tensor = _Convolution.apply(  # type: ignore[no-untyped-call]
        inputs, weight, shadow, geometry, fork
    )
    return result


def packed(weight: Tensor, *, unrolled: bool) -> Tensor:
    """[N, J, taps, K], the order of the shadow; under unrolled images, one tap of all values."""
    clients, outputs, channels = weight.shape[:3]
    if unrolled:
        return weight.reshape(clients, outputs, 1, -1)
    return weight.reshape(clients, outputs, channels, -1).transpose(2, 3)


def unpacked(weights: Tensor, shape: torch.Size) -> Tensor:
    """A gradient in the shadow's order, seen in the weight's own shape."""
    if weights.shape[2] == 1:
        return weights.view(shape)
    return weights.transpose(2, 3).view(shape)


def forward(inputs: Tensor, shadow: Tensor, geometry: Geometry) -> Tensor:
    """The convolution itself, without a bias."""
    batch, height, width, clients, channels = inputs.shape
    _, outputs, taps, kept = shadow.shape
    high, wide = geometry.output(height, width)
    result = inputs.new_empty(batch, high, wide, clients, outputs)
    if geometry.pointwise and kept == channels and channels % ALIGNED == 0:
        torch.bmm(_clients(inputs), shadow[:, :, 0].transpose(1, 2), out=_clients(result))
        return result
    _product(inputs, shadow, result, geometry, (taps * kept, kept, 1), transposed=False)
    return result


def backward_input(
    gradient: Tensor,
    shadow: Tensor,
    geometry: Geometry,
    shape: torch.Size,
    around: Tensor | None = None,
) -> Tensor:
    """The gradient of the input, added to what came `around` the product if anything did."""
    outputs, taps, kept = shadow.shape[1:]
    if around is not None:
        _clients(around).baddbmm_(_clients(gradient), shadow[:, :, 0])
        return around
    result = gradient.new_empty(shape)
    if geometry.pointwise and outputs % ALIGNED == 0:
        torch.bmm(_clients(gradient), shadow[:, :, 0], out=_clients(result))
        return result
    _product(gradient, shadow, result, geometry, (1, kept, taps * kept), transposed=True)
    return result


def _product(
    source: Tensor,
    shadow: Tensor,
    result: Tensor,
    geometry: Geometry,
    strides: tuple[int, int, int],
    *,
    transposed: bool,
) -> None:
    """Launch the kernel; `strides` are those of the weight along result, taps and source."""
    from tiercut.engines.folded.kernels.convolve import convolve as kernel

    batch, height, width, clients, outputs = result.shape
    channels = source.shape[4]
    along_result, along_taps, along_source = strides
    residues = geometry.stride if transposed else 1
    rows = batch * -(-height // residues) * -(-width // residues)
    blocks = for_convolve(rows, channels, outputs)
    tiles = -(-rows // blocks.rows) * -(-outputs // blocks.cols)
    launch(
        kernel,
        (tiles, clients, residues * residues),
        source,
        shadow,
        result,
        batch,
        clients,
        channels,
        outputs,
        source.shape[1],
        source.shape[2],
        height,
        width,
        *geometry.kernel,
        geometry.stride,
        *geometry.padding,
        transposed,
        shadow[0].numel(),
        along_taps,
        along_source,
        along_result,
        shadow.shape[1] if transposed else shadow.shape[3],
        blocks.rows,
        blocks.cols,
        blocks.depth,
        **blocks.options,
    )


def backward_weight(
    inputs: Tensor, gradient: Tensor, shape: torch.Size, geometry: Geometry
) -> Tensor:
    """The gradient of the weight, float32 in the order of the shadow."""
    from tiercut.engines.folded.kernels.convolve import weigh as kernel

    batch, height, width, clients, outputs = gradient.shape
    taps, kept = shape[2:]
    positions = batch * height * width
    if library_weigh(positions, kept, outputs) and geometry.pointwise and inputs.is_cuda:
        left, right = _clients(gradient).transpose(1, 2), _clients(inputs)
        return torch.bmm(left, right, out_dtype=torch.float32).unsqueeze(2)
    blocks = for_weigh(positions, kept, outputs)
    tiles = taps * -(-outputs // blocks.rows) * -(-kept // blocks.cols)
    parts = splits(tiles * clients, positions, blocks.depth)
    result = torch.empty((parts, *shape), dtype=torch.float32, device=inputs.device)
    launch(
        kernel,
        (tiles, clients, parts),
        inputs,
        gradient,
        result,
        batch,
        clients,
        inputs.shape[4],
        outputs,
        inputs.shape[1],
        inputs.shape[2],
        height,
        width,
        *geometry.kernel,
        geometry.stride,
        *geometry.padding,
        kept,
        parts,
        blocks.rows,
        blocks.cols,
        blocks.depth,
        **blocks.options,
    )
    return result[0] if parts == 1 else result.sum(0)


def unroll(inputs: Tensor, geometry: Geometry) -> Tensor:
    """The patch under the filter at every position, as channels padded to a multiple of 16."""
    from tiercut.engines.folded.kernels.convolve import columns as kernel

    batch, height, width, clients, channels = inputs.shape
    high, wide = geometry.output(height, width)
    patch = power(channels * geometry.kernel[0] * geometry.kernel[1], 16, 1 << 16)
    result = inputs.new_empty(batch, high, wide, clients, patch)
    total = batch * high * wide * clients
    rows = max(1, 4096 // patch)
    launch(
        kernel,
        (-(-total // rows),),
        inputs,
        result,
        total,
        clients,
        channels,
        height,
        width,
        high,
        wide,
        *geometry.kernel,
        geometry.stride,
        *geometry.padding,
        rows,
        patch,
    )
    return result


def _clients(values: Tensor) -> Tensor:
    """[N, positions, channels], a view that a batched product reads and writes in place."""
    return values.view(-1, *values.shape[3:]).transpose(0, 1)
