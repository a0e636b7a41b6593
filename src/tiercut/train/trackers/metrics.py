"""What trackers are given of a round."""

from __future__ import annotations

from tiercut.train.record import Record


def metrics_of(record: Record) -> dict[str, float]:
    """The numbers in a record by name, without the round itself."""
    values = record.model_dump(mode="json", exclude={"round", "cut_layers"}, exclude_none=True)
    return {name: float(value) for name, value in values.items()}
