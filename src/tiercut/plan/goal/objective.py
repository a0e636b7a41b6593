"""What was aimed at, and what the plan is expected to come to."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Kind = Literal["time-to-accuracy", "bytes-to-accuracy"]


@dataclass(frozen=True)
class Objective:
    """A target accuracy, the rounds it is estimated to take, and what they add up to."""

    kind: Kind
    target: float
    rounds: float
    rounds_low: float
    rounds_high: float
    total_seconds: float
    total_bytes: float
    lower_bound: float
    """Seconds or bytes, as the kind says, that no plan beats if the rounds are as estimated."""
    evidence: str

    @property
    def total(self) -> float:
        """What was minimised."""
        return self.total_seconds if self.kind == "time-to-accuracy" else self.total_bytes

    @property
    def gap(self) -> float:
        """How far above its bound the total is, as a fraction of it."""
        return max(0.0, 1 - self.lower_bound / self.total)

    def to_dict(self) -> dict[str, Any]:
        """Its part of the plan file."""
        return {**asdict(self), "gap": self.gap}
