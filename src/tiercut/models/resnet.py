"""ResNet-101 for 32x32 colour images. A residual block is one layer: no cut goes through it."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from tiercut.models.layered import LayeredModel

WIDTH = 64
"""Channels of the stem and inside the blocks of the first stage; each later stage doubles them."""

_BLOCKS = (3, 4, 23, 3)
_EXPANSION = 4


class Bottleneck(nn.Module):
    """1x1, 3x3 and 1x1 convolutions around which the input is added back."""

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = width * _EXPANSION
        self.body = nn.Sequential(
            *_conv_norm(inputs, width, kernel=1),
            nn.ReLU(),
            *_conv_norm(width, width, kernel=3, stride=stride),
            nn.ReLU(),
            *_conv_norm(width, outputs, kernel=1),
        )
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(*_conv_norm(inputs, outputs, kernel=1, stride=stride))

    def forward(self, inputs: Tensor) -> Tensor:
        """Add what the body computes to the shortcut, then ReLU."""
        return functional.relu(self.body(inputs) + self.shortcut(inputs))


def resnet101(classes: int = 10) -> LayeredModel:
    """ResNet-101 with 42,512,970 parameters for ten classes.

    Made for small images as is usual: a 3x3 stem with stride 1, and no max-pool after it.
    """
    layers: dict[str, nn.Module] = {
        "stem": nn.Sequential(*_conv_norm(3, WIDTH, kernel=3), nn.ReLU())
    }
    channels = WIDTH
    for stage, blocks in enumerate(_BLOCKS, start=1):
        width = WIDTH * 2 ** (stage - 1)
        for block in range(1, blocks + 1):
            stride = 2 if block == 1 and stage > 1 else 1
            layers[f"block{stage}_{block}"] = Bottleneck(channels, width, stride)
            channels = width * _EXPANSION
    layers["fc"] = nn.Sequential(
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes)
    )
    return LayeredModel(layers, name="resnet101", input_shape=(3, 32, 32), head="pooled")


def _conv_norm(
    inputs: int, outputs: int, *, kernel: int, stride: int = 1
) -> tuple[nn.Conv2d, nn.BatchNorm2d]:
    """Make a convolution and its BatchNorm, whose shift makes the convolution's bias pointless."""
    padding = kernel // 2
    convolution = nn.Conv2d(inputs, outputs, kernel, stride, padding, bias=False)
    return convolution, nn.BatchNorm2d(outputs)
