"""How many rounds until the target: an estimate, and who can give one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Rounds:
    """Estimates for several numbers of aggregators; infinite where there is no evidence."""

    likely: Floats
    low: Floats
    high: Floats

    @classmethod
    def spread(cls, likely: Floats, width: Floats) -> Rounds:
        """Estimates that may be wrong by `width` in the logarithm, either way."""
        return cls.of(likely, likely * np.exp(-width), likely * np.exp(width))

    @classmethod
    def of(cls, likely: Floats, low: Floats, high: Floats) -> Rounds:
        """Estimates, none of them below the one round that it takes at least."""
        return cls(np.maximum(likely, 1), np.maximum(low, 1), np.maximum(high, 1))


class Evidence(Protocol):
    """What rounds are estimated from."""

    @property
    def basis(self) -> str:
        """What the estimate rests on, in a sentence or two."""

    def rounds(self, h: int, v: int, aggregators: Ints) -> Rounds:
        """The estimate for layers h and v with each of these numbers of aggregators."""
