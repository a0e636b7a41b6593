"""Convolutions on a CPU, each by the way that is fastest for its shape."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from tiercut.engines import unpadded, winograd
from tiercut.engines.layout import IMAGES
from tiercut.engines.unpadded import Pair


def take_shortcuts(module: nn.Module) -> None:
    """Let convolutions inside `module` do so, in place; others than torch's own stay."""
    for inner in module.modules():
        if type(inner) is nn.Conv2d and _is_plain(inner):
            inner.__class__ = QuickConv2d  # so that names, settings and hooks stay


def _is_plain(conv: nn.Conv2d) -> bool:
    plain = conv.groups == 1 and conv.dilation == (1, 1) and conv.padding_mode == "zeros"
    return plain and not isinstance(conv.padding, str)


class QuickConv2d(nn.Conv2d):
    """Torch's convolution, or a shortcut where that is faster."""

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        stride, padding = cast(Pair, self.stride), cast(Pair, self.padding)
        if input.dim() == IMAGES:
            images = _as_computed(input)
            if stride == padding == (1, 1) and winograd.pays(images, weight):
                return winograd.convolve(images, weight, bias)
            if unpadded.pays(images, weight, stride, padding):
                return unpadded.convolve(images, weight, bias, stride, padding)
        return functional.conv2d(input, weight, bias, stride, padding)


def _as_computed(images: Tensor) -> Tensor:
    """The images in the precision in which autocast has them computed."""
    kind = images.device.type
    return images.to(torch.get_autocast_dtype(kind)) if torch.is_autocast_enabled(kind) else images
