"""What a run's plan decided, and what a round of it takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field

from tiercut.documents import Document, check, check_version, read_json


class Traffic(Document):
    """The bytes of a round; only their total counts here."""

    model_config = ConfigDict(extra="ignore")

    total: float


class Decision(Document):
    """Those fields of a plan file that a comparison shows."""

    model_config = ConfigDict(extra="ignore")

    aggregator_layer: int | None
    """None on two tiers."""
    cut_layer: int | None
    """None where clients have different ones."""
    cut_layers: tuple[int, ...] | None = Field(default=None, strict=False)
    """Every client's, where a scheme has a cut for each."""
    aggregators: int
    round_seconds: float
    bytes: Traffic
    binding: str

    def to_dict(self) -> dict[str, Any]:
        """Its part of the summary."""
        cuts = {} if self.cut_layers is None else {"cut_layers": sorted(set(self.cut_layers))}
        return {
            "aggregator_layer": self.aggregator_layer,
            "cut_layer": self.cut_layer,
            **cuts,
            "aggregators": None if self.aggregator_layer is None else self.aggregators,
            "round_seconds": self.round_seconds,
            "round_bytes": self.bytes.total,
            "binding": self.binding,
        }


def read_decision(path: Path) -> Decision:
    """The decision in a plan file."""
    data = read_json(path)
    check_version(data, str(path), "plan")
    return check(Decision, data, str(path))
