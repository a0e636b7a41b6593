"""3x3 convolutions in float32 with a quarter of the products, after Winograd.

A tile of 4x4 outputs takes 36 products per pair of channels, where a plain convolution has 144:
images and kernels are transformed so that one matrix product per place of a 6x6 tile is left, and
gradients are the same steps transposed. The matrices are those of Lavin and Gray (2015), whose
rounding errors are some four times those of a plain convolution.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

KERNEL, PADDING = 3, 1
STEP = 4
"""The outputs of a tile along an axis."""
PLACES = 6
"""The places of a transformed tile along an axis."""
SAVING = 3
"""How many times fewer the products must be to pay: rims of images fill tiles in part, as
measured on two cores, like all bounds here."""
TILES = 32
"""The tiles of a batch from which on it pays to transform the kernel for them."""
WIDTH = 64
"""The products per transformed value and tile from which on transforms pay."""

_PIXELS = torch.tensor(
    [
        [4.0, 0, -5, 0, 1, 0],
        [0, -4, -4, 1, 1, 0],
        [0, 4, -4, -1, 1, 0],
        [0, -2, -1, 2, 1, 0],
        [0, 2, -1, -2, 1, 0],
        [0, 4, 0, -5, 0, 1],
    ]
)
"""From the pixels that a tile sees to its places, along one axis; transposed, for gradients."""
_WEIGHTS = torch.tensor(
    [[6.0, 0, 0], [-4, -4, -4], [-4, 4, -4], [1, 2, 4], [1, -2, 4], [0, 0, 24]],
    dtype=torch.float64,
).div(24)
_KERNEL = torch.kron(_WEIGHTS, _WEIGHTS).float()
"""From the nine weights of a kernel to all places, along both axes."""
_OUTPUTS = torch.tensor(
    [[1.0, 0, 0, 0], [1, 1, 1, 1], [1, -1, 1, -1], [1, 2, 4, 8], [1, -2, 4, -8], [0, 0, 0, 1]]
)
"""Transposed, from places to a tile's outputs, along one axis; for gradients as it stands."""


def pays(images: Tensor, weight: Tensor) -> bool:
    """Whether this is faster than torch's convolution with stride and padding 1."""
    outputs, inputs, *kernel = weight.shape
    tiles = math.prod(_tiles(images))
    saving = math.prod(images.shape[2:]) * KERNEL**2 / (tiles * PLACES**2)
    return (
        images.dtype == weight.dtype == torch.float32
        and kernel == [KERNEL, KERNEL]
        and len(images) * tiles >= TILES
        and saving >= SAVING
        and outputs * inputs >= WIDTH * (outputs + inputs)
    )


def convolve(images: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """What `conv2d` gives with stride and padding 1."""
    result: Tensor = _Winograd.apply(images, weight, bias)  # type: ignore[no-untyped-call]
    return result


class _Winograd(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, images: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(images, weight)
        tiles = _multiply(_split_images(images), _transform(weight).transpose(1, 2))
        outputs = _join(tiles, _OUTPUTS, _canvas(images, len(weight), margin=0))
        if bias is not None:
            outputs += bias
        return _crop(outputs, images, margin=0)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        images, weight = ctx.saved_tensors
        of_images, of_weight, of_bias = None, None, None
        tiles = _split(_paste(gradient, margin=0), _OUTPUTS)
        if ctx.needs_input_grad[0]:
            canvas = _canvas(images, images.shape[1], margin=PADDING)
            of_images = _join(_multiply(tiles, _transform(weight)), _PIXELS, canvas)
            of_images = _crop(of_images, images, margin=PADDING)
        if ctx.needs_input_grad[1]:
            of_weight = _transform_back(_multiply(tiles.transpose(1, 2), _split_images(images)))
        if ctx.needs_input_grad[2]:
            of_bias = gradient.sum((0, 2, 3))
        return of_images, of_weight, of_bias


def _tiles(images: Tensor) -> tuple[int, int]:
    """The rows and columns of tiles that cover an image."""
    height, width = images.shape[2:]
    return -(-height // STEP), -(-width // STEP)


def _canvas(images: Tensor, channels: int, margin: int) -> Tensor:
    """Zeros with channels last for the tiles of images of this size, with a margin around."""
    rows, columns = (count * STEP + 2 * margin for count in _tiles(images))
    return images.new_zeros(len(images), rows, columns, channels)


def _paste(images: Tensor, margin: int) -> Tensor:
    canvas = _canvas(images, images.shape[1], margin)
    height, width = images.shape[2:]
    canvas[:, margin : margin + height, margin : margin + width] = images.permute(0, 2, 3, 1)
    return canvas


def _crop(canvas: Tensor, like: Tensor, margin: int) -> Tensor:
    height, width = like.shape[2:]
    inside = canvas[:, margin : margin + height, margin : margin + width]
    return inside.contiguous().permute(0, 3, 1, 2)


def _split_images(images: Tensor) -> Tensor:
    return _split(_paste(images, margin=PADDING), _PIXELS)


def _windows(canvas: Tensor, size: int) -> list[Tensor]:
    """What each tile sees or covers of the canvas, in views of this many pixels squared."""
    rows, columns = (range(0, extent - size + 1, STEP) for extent in canvas.shape[1:3])
    corners = itertools.product(rows, columns)
    return [canvas[:, row : row + size, column : column + size] for row, column in corners]


def _split(canvas: Tensor, matrix: Tensor) -> Tensor:
    """All tiles, transformed down and across, as [places, tiles, channels]."""
    count, channels, size = len(canvas), canvas.shape[-1], matrix.shape[1]
    windows = _windows(canvas, size)
    tiles = canvas.new_empty(len(windows), count * PLACES, PLACES, channels)
    for window, tile in zip(windows, tiles, strict=True):
        down = _times(matrix, window.view(count, size, size * channels))
        _times(matrix, down.view(count * PLACES, size, channels), out=tile)
    return tiles.view(-1, PLACES**2, channels).transpose(0, 1)


def _join(tiles: Tensor, matrix: Tensor, canvas: Tensor) -> Tensor:
    """Transposed `_split`: transforms tiles back and adds each to its window of the canvas."""
    count, channels, size = len(canvas), canvas.shape[-1], matrix.shape[1]
    windows = _windows(canvas, size)
    tiles = tiles.transpose(0, 1).view(len(windows), count, PLACES, PLACES * channels)
    for window, tile in zip(windows, tiles, strict=True):
        down = _times(matrix.t(), tile).view(count * size, PLACES, channels)
        window.add_(_times(matrix.t(), down).view(window.shape))
    return canvas


def _transform(weight: Tensor) -> Tensor:
    """A kernel as [places, outputs, inputs]."""
    outputs, inputs = weight.shape[:2]
    nine = weight.permute(0, 2, 3, 1).reshape(outputs, KERNEL**2, inputs)
    return _times(_KERNEL, nine).transpose(0, 1)


def _transform_back(places: Tensor) -> Tensor:
    """Transposed `_transform`: the gradient of a kernel from those of its places."""
    _, outputs, inputs = places.shape
    nine = _times(_KERNEL.t(), places.transpose(0, 1))
    return nine.view(outputs, KERNEL, KERNEL, inputs).permute(0, 3, 1, 2)


def _multiply(left: Tensor, right: Tensor) -> Tensor:
    """A matrix product per place; in memory, the places of a tile stay together."""
    places, rows, _ = left.shape
    out = left.new_empty(rows, places, right.shape[2]).transpose(0, 1)
    return torch.bmm(left, right, out=out)


def _times(matrix: Tensor, values: Tensor, out: Tensor | None = None) -> Tensor:
    """The product with every one of the values."""
    return torch.bmm(matrix.expand(len(values), -1, -1), values, out=out)
