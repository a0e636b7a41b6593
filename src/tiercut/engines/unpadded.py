"""Convolutions of small images, whose weight gradient leaves the padding out.

In a 3x3 convolution of 2x2 images more than half of all products are with padding, and torch's
weight gradient on a CPU is at its slowest there. Here it is one matrix product per position of the
kernel, over the pixels that the position meets.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional
from torch.nn.grad import conv2d_input

WASTE = 0.25
"""The share of products with padding from which on leaving them out is faster, as measured."""
LARGE = 2**20
"""The weights of a kernel from which on it is; small ones are faster in one call."""

Pair = tuple[int, int]
"""A number for rows, a number for columns."""


def pays(images: Tensor, weight: Tensor, stride: Pair, padding: Pair) -> bool:
    """Whether this is faster than torch's weight gradient."""
    return weight.numel() >= LARGE and _waste(images, weight, stride, padding) >= WASTE


def convolve(
    images: Tensor, weight: Tensor, bias: Tensor | None, stride: Pair, padding: Pair
) -> Tensor:
    """What `conv2d` gives, in the precision of the images."""
    result: Tensor = _Unpadded.apply(images, weight, bias, stride, padding)  # type: ignore[no-untyped-call]
    return result


def _waste(images: Tensor, weight: Tensor, stride: Pair, padding: Pair) -> float:
    """The share of products that are with padding."""
    axes = zip(images.shape[2:], weight.shape[2:], stride, padding, strict=True)
    return 1 - math.prod(_share_met(*axis) for axis in axes)


class _Unpadded(torch.autograd.Function):
    """A convolution in the precision of its images, whatever the weights are kept in."""

    @staticmethod
    def forward(
        ctx: Any, images: Tensor, weight: Tensor, bias: Tensor | None, stride: Pair, padding: Pair
    ) -> Tensor:
        ctx.kept_in, ctx.stride, ctx.padding = weight.dtype, stride, padding
        weight = weight.to(images.dtype)
        ctx.save_for_backward(images, weight)
        if bias is not None:
            bias = bias.to(images.dtype)
        return functional.conv2d(images, weight, bias, stride, padding)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        images, weight = ctx.saved_tensors
        of_images, of_weight, of_bias = None, None, None
        if ctx.needs_input_grad[0]:
            of_images = conv2d_input(images.shape, weight, gradient, ctx.stride, ctx.padding)
        if ctx.needs_input_grad[1]:
            of_weight = torch.empty_like(weight, dtype=ctx.kept_in)
            write_weight_gradient(of_weight, images, gradient, ctx.stride, ctx.padding)
        if ctx.needs_input_grad[2]:
            of_bias = gradient.sum((0, 2, 3), dtype=ctx.kept_in)
        return of_images, of_weight, of_bias, None, None


def write_weight_gradient(
    out: Tensor, images: Tensor, gradient: Tensor, stride: Pair, padding: Pair
) -> None:
    """Fill `out`, of the shape of a convolution's weights, with their gradient."""
    images, gradient = images.permute(0, 2, 3, 1), gradient.permute(0, 2, 3, 1)
    sizes = zip(images.shape[1:3], gradient.shape[1:3], stride, padding, strict=True)
    (height, rows, down, above), (width, columns, right, left) = sizes
    for i, j in itertools.product(*map(range, out.shape[2:])):
        y_out, y_in = _meet(height, rows, down, i - above)
        x_out, x_in = _meet(width, columns, right, j - left)
        left_factor = gradient[:, y_out, x_out].flatten(0, 2)
        out[:, :, i, j] = left_factor.t() @ images[:, y_in, x_in].flatten(0, 2)


def _meet(size: int, outputs: int, stride: int, offset: int) -> tuple[slice, slice]:
    """The outputs for which a position of the kernel is on the image, and where it is.

    For output number n it is at n * stride + offset.
    """
    first = max(0, -(offset // stride))
    count = max(0, min(outputs, (size - 1 - offset) // stride + 1) - first)
    start = first * stride + offset
    return slice(first, first + count), slice(start, start + count * stride, stride)


def _share_met(size: int, kernel: int, stride: int, padding: int) -> float:
    """Along one axis, the share of pairs of an output and a kernel position on the image."""
    outputs = (size + 2 * padding - kernel) // stride + 1
    met = [_meet(size, outputs, stride, place - padding)[0] for place in range(kernel)]
    return sum(len(range(outputs)[there]) for there in met) / (outputs * kernel)
