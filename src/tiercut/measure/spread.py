"""The same quantity over several seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any, Self


@dataclass(frozen=True)
class Spread:
    """A mean with the least and the greatest value around it; one seed has no width."""

    mean: float
    low: float
    high: float
    values: tuple[float, ...]
    """In the order of the seeds."""

    @classmethod
    def of(cls, values: Sequence[float]) -> Self:
        """The spread of at least one value."""
        low, high = min(values), max(values)
        # The mean of equal numbers may round to just beside them.
        return cls(min(max(fmean(values), low), high), low, high, tuple(values))

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {**asdict(self), "values": list(self.values)}
