"""A thin residual network for 32x32 colour images, of twelve layers."""

from __future__ import annotations

from collections import OrderedDict

from torch import Tensor, nn
from torch.nn import functional

STAGES = ((16, 2, 1), (32, 3, 2), (64, 5, 2))
"""Channels, blocks, and the stride of the first block."""


class Block(nn.Module):
    """Two 3x3 convolutions around which the input is added back."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            *_conv_norm(inputs, outputs, 3, stride), nn.ReLU(), *_conv_norm(outputs, outputs, 3)
        )
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(*_conv_norm(inputs, outputs, 1, stride))

    def forward(self, inputs: Tensor) -> Tensor:
        """Add what the body computes to the shortcut, then ReLU."""
        return functional.relu(self.body(inputs) + self.shortcut(inputs))


def factory(classes: int = 10) -> nn.Sequential:
    """A stem that makes images a quarter as wide, ten blocks, and the scores."""
    stem = nn.Sequential(*_conv_norm(3, 16, 5, 2), nn.ReLU(), nn.MaxPool2d(2))
    layers: OrderedDict[str, nn.Module] = OrderedDict(stem=stem)
    channels = 16
    for stage, (width, blocks, stride) in enumerate(STAGES, start=1):
        for block in range(blocks):
            layers[f"block{stage}_{block + 1}"] = Block(channels, width, 1 if block else stride)
            channels = width
    layers["scores"] = nn.Sequential(
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes)
    )
    return nn.Sequential(layers)


factory.input_shape = (3, 32, 32)  # type: ignore[attr-defined]


def _conv_norm(inputs: int, outputs: int, kernel: int, stride: int = 1) -> tuple[nn.Module, ...]:
    convolution = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)
    return convolution, nn.BatchNorm2d(outputs)
