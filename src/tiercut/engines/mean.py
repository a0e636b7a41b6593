"""What some replicas come to, with the weight behind it: means of means are again means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from tiercut.engines.task import State


@dataclass(frozen=True, eq=False)
class Mean:
    """Tensors averaged over replicas; counters are the largest of theirs."""

    values: State
    weights: dict[str, float]
    """What stands behind each value."""


def combine(means: Sequence[Mean]) -> Mean:
    """The mean over the replicas of all."""
    keys = dict.fromkeys(key for mean in means for key in mean.values)
    having = {key: [mean for mean in means if key in mean.values] for key in keys}
    return Mean(
        {key: _combine_one(key, those) for key, those in having.items()},
        {key: sum(mean.weights[key] for mean in those) for key, those in having.items()},
    )


def _combine_one(key: str, means: Sequence[Mean]) -> Tensor:
    values = [mean.values[key] for mean in means]
    if len(values) == 1:
        return values[0]
    if not values[0].is_floating_point():
        return torch.stack(values).amax(0)
    weights = [mean.weights[key] for mean in means]
    total = torch.zeros_like(values[0])
    for value, weight in zip(values, weights, strict=True):
        total.add_(value, alpha=weight / sum(weights))
    return total
