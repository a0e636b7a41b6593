"""The layers that the plain convolutional models of the zoo are made of."""

from __future__ import annotations

from torch import nn


def conv(inputs: int, outputs: int, *, norm: bool = False, pool: bool = False) -> nn.Sequential:
    """Make one layer: 3x3 convolution, BatchNorm and max-pool where asked, ReLU between them."""
    parts: list[nn.Module] = [nn.Conv2d(inputs, outputs, kernel_size=3, padding=1)]
    if norm:
        parts.append(nn.BatchNorm2d(outputs))
    parts.append(nn.ReLU())
    if pool:
        parts.append(nn.MaxPool2d(2))
    return nn.Sequential(*parts)


def hidden(inputs: int, outputs: int, *, dropout: float = 0.0) -> nn.Sequential:
    """Make one layer: flatten, linear, ReLU, and the dropout that follows."""
    parts: list[nn.Module] = [nn.Flatten(), nn.Linear(inputs, outputs), nn.ReLU()]
    if dropout:
        parts.append(nn.Dropout(dropout))
    return nn.Sequential(*parts)


def scores(inputs: int, classes: int) -> nn.Sequential:
    """Make the last layer: flatten and linear, one score per class."""
    return nn.Sequential(nn.Flatten(), nn.Linear(inputs, classes))
