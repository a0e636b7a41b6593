"""Auxiliary heads: the small classifier that gives a local loss at a cut.

`flat` sees every element of the activations; `pooled` sees one average per channel, which keeps the
head small where activations are large. A head is no part of the model's own parameter count.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, get_args

from torch import nn

from tiercut.errors import InputError, nearest

HeadKind = Literal["flat", "pooled"]
HEAD_KINDS: tuple[str, ...] = get_args(HeadKind)


def build_head(kind: HeadKind, activation_shape: Sequence[int], classes: int) -> nn.Module:
    """Build a head for activations of one sample's `activation_shape`, channels first.

    Activations that are already a flat vector have nothing to pool: both kinds are then the same.
    """
    if kind not in HEAD_KINDS:
        raise InputError(
            f"{kind!r} is no kind of auxiliary head{nearest(kind, HEAD_KINDS)};"
            f" write one of {', '.join(HEAD_KINDS)}"
        )
    if kind == "flat" or len(activation_shape) == 1:
        return nn.Sequential(nn.Flatten(), nn.Linear(math.prod(activation_shape), classes))
    channels = activation_shape[0]
    # Positions are flattened first, so that one pool serves sequences, images and volumes alike.
    average = nn.Sequential(nn.Flatten(start_dim=2), nn.AdaptiveAvgPool1d(1), nn.Flatten())
    return nn.Sequential(average, nn.Linear(channels, classes))
