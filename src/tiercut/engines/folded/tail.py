"""Bias or BatchNorm, residual, ReLU and 2x2 max-pool, as one autograd function over the kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from tiercut.engines.folded.blocks import Strips, for_rows, power
from tiercut.engines.folded.fork import Fork
from tiercut.engines.folded.launch import launch


@dataclass(frozen=True)
class Norm:
    """Stacked parameters, [N, C], and buffers of one BatchNorm2d."""

    gamma: Tensor
    beta: Tensor
    mean: Tensor
    var: Tensor
    tracked: Tensor
    momentum: float
    eps: float


@dataclass(frozen=True)
class TailShape:
    """Which of its parts a tail has."""

    norm: bool
    bias: bool
    residual: bool
    relu: bool
    pool: bool


def tail(
    inputs: Tensor,
    sizes: Tensor,
    *,
    norm: Norm | None,
    bias: Tensor | None,
    residual: Tensor | None,
    relu: bool,
    pool: bool,
    fork: Fork | None = None,
) -> Tensor:
    """Run the parts that are there, in the order of the arguments.

    With a `fork`, the residual's gradient goes there instead of to autograd.
    """
    shape = TailShape(norm is not None, bias is not None, residual is not None, relu, pool)
    gamma, beta = (norm.gamma, norm.beta) if norm else (None, None)
    result: Tensor = _Tail.apply(  # type: ignore[no-untyped-call]
        inputs, bias, gamma, beta, residual, sizes, norm, shape, fork
    )
    return result


class _Tail(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,
        bias: Tensor | None,
        gamma: Tensor | None,
        beta: Tensor | None,
        residual: Tensor | None,
        sizes: Tensor,
        norm: Norm | None,
        shape: TailShape,
        fork: Fork | None,
    ) -> Tensor:
        coefficients = inputs if norm is None else _statistics(inputs, sizes, norm, bias)
        result = _apply(inputs, coefficients, bias, residual, shape)
        ctx.shape, ctx.fork = shape, fork
        ctx.save_for_backward(
            inputs, coefficients, bias, sizes, result if shape.relu and shape.residual else None
        )
        return result

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        inputs, coefficients, bias, sizes, result = ctx.saved_tensors
        shape: TailShape = ctx.shape
        gradient = gradients[0].contiguous()
        height, width, clients, channels = inputs.shape[1:]
        plane = -(-height // 2) * -(-width // 2) if shape.pool else height * width
        rows = inputs.shape[0] * plane
        strips = for_rows(rows, clients * channels, channels)
        gamma_grad = beta_grad = pull = None
        geometry = (rows, plane, height, width, clients * channels, channels)
        passed = gradient
        if shape.norm:
            if shape.residual and shape.relu:
                passed = torch.empty_like(gradient)
            gamma_grad, beta_grad, pull = _sums(
                inputs, gradient, result, passed, coefficients, sizes, shape, geometry, strips
            )
        towards = torch.empty_like(inputs)
        parts = coefficients
        if shape.bias and not shape.norm:
            parts = coefficients.new_empty(strips.count, clients, channels, dtype=torch.float32)
        from tiercut.engines.folded.kernels.tail import apply_gradient

        launch(
            apply_gradient,
            (clients * channels // strips.chans, strips.count),
            inputs,
            passed,
            result if result is not None else gradient,
            coefficients,
            bias if bias is not None else coefficients,
            pull if pull is not None else coefficients,
            sizes,
            towards,
            parts,
            *geometry,
            shape.norm,
            shape.bias,
            shape.residual,
            shape.relu,
            shape.pool,
            strips.strip,
            strips.rows,
            strips.chans,
            num_warps=strips.warps,
        )
        bias_grad = None
        if bias is not None:
            # Under BatchNorm a bias has no effect but on the running mean.
            bias_grad = torch.zeros_like(bias) if shape.norm else parts.sum(0)
        residual_grad = None
        if shape.residual:
            residual_grad = passed if shape.norm else towards
        if ctx.fork is not None:
            ctx.fork.gradient, residual_grad = residual_grad, None
        return towards, bias_grad, gamma_grad, beta_grad, residual_grad, None, None, None, None


def _statistics(inputs: Tensor, sizes: Tensor, norm: Norm, bias: Tensor | None) -> Tensor:
    """Coefficients [4, N * C] of this batch; the running statistics move on."""
    from tiercut.engines.folded.kernels.tail import settle, statistics

    batch, height, width, clients, channels = inputs.shape
    positions, wide = batch * height * width, clients * channels
    strips = for_rows(positions, wide, channels)
    parts = torch.empty(strips.count, 2, wide, dtype=torch.float32, device=inputs.device)
    coefficients = torch.empty(4, wide, dtype=torch.float32, device=inputs.device)
    launch(
        statistics,
        (wide // strips.chans, strips.count),
        inputs,
        sizes,
        parts,
        positions,
        height * width,
        wide,
        channels,
        strips.strip,
        strips.rows,
        strips.chans,
        num_warps=strips.warps,
    )
    launch(
        settle,
        (wide // strips.chans,),
        inputs,
        parts,
        sizes,
        norm.gamma,
        norm.beta,
        bias if bias is not None else norm.beta,
        norm.mean,
        norm.var,
        norm.tracked,
        coefficients,
        norm.momentum,
        norm.eps,
        height * width,
        wide,
        channels,
        strips.count,
        power(strips.count, 1, 16),
        bias is not None,
        strips.chans,
        num_warps=2,
    )
    return coefficients


def _apply(
    inputs: Tensor,
    coefficients: Tensor,
    bias: Tensor | None,
    residual: Tensor | None,
    shape: TailShape,
) -> Tensor:
    from tiercut.engines.folded.kernels.tail import apply, apply_pooled

    batch, height, width, clients, channels = inputs.shape
    wide = clients * channels
    shift = bias if bias is not None else coefficients
    if shape.pool:
        result = inputs.new_empty(batch, height // 2, width // 2, clients, channels)
        rows = batch * (height // 2) * (width // 2)
        strips = for_rows(rows, wide, channels)
        launch(
            apply_pooled,
            (wide // strips.chans, -(-rows // strips.rows)),
            inputs,
            coefficients,
            shift,
            result,
            batch,
            height,
            width,
            wide,
            shape.norm,
            shape.bias,
            shape.relu,
            strips.rows,
            strips.chans,
            num_warps=strips.warps,
        )
        return result
    result = torch.empty_like(inputs)
    rows = batch * height * width
    strips = for_rows(rows, wide, channels)
    launch(
        apply,
        (wide // strips.chans, -(-rows // strips.rows)),
        inputs,
        coefficients,
        shift,
        residual if residual is not None else inputs,
        result,
        rows,
        wide,
        shape.norm,
        shape.bias,
        shape.residual,
        shape.relu,
        strips.rows,
        strips.chans,
        num_warps=strips.warps,
    )
    return result


def _sums(
    inputs: Tensor,
    gradient: Tensor,
    result: Tensor | None,
    passed: Tensor,
    coefficients: Tensor,
    sizes: Tensor,
    shape: TailShape,
    geometry: tuple[int, int, int, int, int, int],
    strips: Strips,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of scale and shift, and what mean and variance pull out of the input's.

    What has passed the ReLU is written to `passed`, where that is a tensor of its own.
    """
    from tiercut.engines.folded.kernels.tail import gradient_sums, settle_gradients

    height, width, wide, channels = geometry[2:]
    parts = coefficients.new_empty(strips.count, 2, wide)
    gamma_grad = coefficients.new_empty(wide // channels, channels)
    beta_grad = torch.empty_like(gamma_grad)
    pull = coefficients.new_empty(2, wide)
    launch(
        gradient_sums,
        (wide // strips.chans, strips.count),
        inputs,
        gradient,
        result if result is not None else gradient,
        passed,
        coefficients,
        sizes,
        parts,
        *geometry,
        shape.residual,
        shape.relu,
        shape.pool,
        strips.strip,
        strips.rows,
        strips.chans,
        num_warps=strips.warps,
    )
    launch(
        settle_gradients,
        (wide // strips.chans,),
        parts,
        coefficients,
        sizes,
        gamma_grad,
        beta_grad,
        pull,
        height * width,
        wide,
        channels,
        strips.count,
        power(strips.count, 1, 16),
        strips.chans,
        num_warps=2,
    )
    return gamma_grad, beta_grad, pull
