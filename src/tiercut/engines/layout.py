"""How stacks lie in memory: every row of convolution weights with its channels last.

Convolutions run faster on activations and weights whose channels are neighbours. Tensors keep the
shape that the model gives them; only the order in memory differs, and averaging does not care.
"""

from __future__ import annotations

import torch
from torch import Tensor

IMAGES = 4
"""Dimensions of a batch of images, and of a convolution's weights."""


def repeat(value: Tensor, rows: int, *, channels_last: bool = True) -> Tensor:
    """A stack of so many copies of `value`."""
    if value.dim() != IMAGES or not channels_last:
        return value.unsqueeze(0).repeat(rows, *(1 for _ in value.shape))
    value = value.permute(0, 2, 3, 1).unsqueeze(0)
    return value.repeat(rows, 1, 1, 1, 1).permute(0, 1, 4, 2, 3)


def flat(stack: Tensor) -> Tensor:
    """A stack as [rows, values] in the order of its memory; changing it changes the stack."""
    if not stack.is_contiguous():
        stack = stack.permute(0, 1, 3, 4, 2)
    return stack.view(len(stack), -1)


def in_memory_order(value: Tensor, like: Tensor) -> Tensor:
    """A row, or its gradient, with its dimensions in the order in which `like` lies in memory."""
    return value if like.is_contiguous() else value.permute(0, 2, 3, 1)


def weighted_sum(shares: Tensor, stack: Tensor) -> Tensor:
    """The sum of all rows, each times its share, in the shape of one row."""
    total = shares.to(stack.dtype) @ flat(stack)
    if stack.is_contiguous():
        return total.view(stack.shape[1:])
    outputs, inputs, *kernel = stack.shape[1:]
    return total.view(outputs, *kernel, inputs).permute(0, 3, 1, 2)


def take(stack: Tensor, rows: Tensor) -> Tensor:
    """A new stack of some rows, laid out alike."""
    return torch.empty_like(stack).copy_(stack[rows])


def channels_last(images: Tensor) -> Tensor:
    """A batch of images as convolutions like it; anything else as it is."""
    if images.dim() != IMAGES:
        return images
    return images.contiguous(memory_format=torch.channels_last)
