"""The paper's AlexNet for 28x28 grey images: five convolutions and three fully connected layers."""

from __future__ import annotations

from tiercut.models.blocks import conv, hidden, scores
from tiercut.models.layered import LayeredModel


def alexnet(classes: int = 10) -> LayeredModel:
    """AlexNet with 3,868,170 parameters for ten classes."""
    layers = {
        "conv1": conv(1, 32, pool=True),
        "conv2": conv(32, 64, pool=True),
        "conv3": conv(64, 128),
        "conv4": conv(128, 256),
        "conv5": conv(256, 256, pool=True),
        "fc1": hidden(256 * 3 * 3, 1024, dropout=0.5),
        "fc2": hidden(1024, 512, dropout=0.5),
        "fc3": scores(512, classes),
    }
    return LayeredModel(layers, name="alexnet", input_shape=(1, 28, 28))
