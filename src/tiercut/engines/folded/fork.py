"""Where a value goes both into a product and around it: its two gradients meet in the product."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass
class Fork:
    """Holds the gradient of the way around, to which the product's backward pass adds its own.

    The way around ends where the product's way does, so that its gradient is there first. To add
    inside the product saves three passes over the activations.
    """

    gradient: Tensor | None = None
