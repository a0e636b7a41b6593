"""A model small enough for demos and tests: 8x8 grey digits, seven layers, seconds to train."""

from __future__ import annotations

from tiercut.models.blocks import conv, hidden, scores
from tiercut.models.layered import LayeredModel


def small(classes: int = 10) -> LayeredModel:
    """Five convolutions and two fully connected layers, 34,522 parameters for ten classes."""
    layers = {
        "conv1": conv(1, 16),
        "conv2": conv(16, 16, pool=True),
        "conv3": conv(16, 32),
        "conv4": conv(32, 32, pool=True),
        "conv5": conv(32, 32),
        "fc1": hidden(32 * 2 * 2, 64),
        "fc2": scores(64, classes),
    }
    return LayeredModel(layers, name="small", input_shape=(1, 8, 8))
