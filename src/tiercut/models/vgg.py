"""VGG-11 and VGG-19 for 32x32 colour images: convolutions with BatchNorm and one linear layer."""

from __future__ import annotations

from torch import nn

from tiercut.models.blocks import conv, scores
from tiercut.models.layered import LayeredModel

Stages = tuple[tuple[int, ...], ...]
"""The channels of every convolution, grouped by the max-pool that ends each stage."""

_VGG11: Stages = ((64,), (128,), (256, 256), (512, 512), (512, 512))
_VGG19: Stages = ((64,) * 2, (128,) * 2, (256,) * 4, (512,) * 4, (512,) * 4)


def vgg11(classes: int = 10) -> LayeredModel:
    """VGG-11 with 9,231,114 parameters for ten classes."""
    return _vgg("vgg11", _VGG11, classes)


def vgg19(classes: int = 10) -> LayeredModel:
    """VGG-19 with 20,040,522 parameters for ten classes."""
    return _vgg("vgg19", _VGG19, classes)


def _vgg(name: str, stages: Stages, classes: int) -> LayeredModel:
    layers: dict[str, nn.Module] = {}
    channels = 3
    for stage in stages:
        for position, outputs in enumerate(stage, start=1):
            pool = position == len(stage)
            layers[f"conv{len(layers) + 1}"] = conv(channels, outputs, norm=True, pool=pool)
            channels = outputs
    layers["fc1"] = scores(channels, classes)
    return LayeredModel(layers, name=name, input_shape=(3, 32, 32))
