"""Rounds on real devices: what was predicted and what was measured, as series and as means."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field

from tiercut.documents import Document, read_lines
from tiercut.units import show_size, show_time

Unit = Literal["seconds", "bytes"]
KINDS: dict[str, tuple[Unit, str]] = {
    "round": ("seconds", "whole round"),
    "download": ("seconds", "download"),
    "training": ("seconds", "training"),
    "upload": ("seconds", "upload"),
    "between": ("bytes", "bytes between devices"),
    "server": ("bytes", "bytes at the server"),
    "weights": ("bytes", "bytes of layers"),
}
"""What is compared: the phases of a round, and where its bytes go."""


class _Seen(Document):
    """What a page needs of a record; the rest is not looked at."""

    model_config = ConfigDict(extra="ignore")


class _Seconds(_Seen):
    download: float = Field(ge=0)
    training: float = Field(ge=0)
    upload: float = Field(ge=0)
    round: float = Field(ge=0)


class _Bytes(_Seen):
    between: float = Field(ge=0)
    server: float = Field(ge=0)
    weights: float = Field(ge=0)


class _Real(_Seen):
    attempts: int = Field(ge=1)
    predicted: _Seconds
    measured: _Seconds
    predicted_bytes: _Bytes
    measured_bytes: _Bytes


class _Record(_Seen):
    round: int = Field(ge=1)
    lost: int = Field(default=0, ge=0)
    real: _Real | None = None


@dataclass(frozen=True)
class Series:
    """Something that was predicted and measured, round by round."""

    name: str
    unit: Unit
    title: str
    predicted: tuple[float, ...]
    measured: tuple[float, ...]

    @property
    def means(self) -> tuple[float, float]:
        """Of what was predicted, and of what was measured."""
        count = len(self.predicted)
        return sum(self.predicted) / count, sum(self.measured) / count

    @property
    def excess(self) -> float | None:
        """The share by which more was measured than predicted, over all rounds."""
        predicted, measured = self.means
        return measured / predicted - 1 if predicted else None

    def show(self, value: float) -> str:
        """A value for a person."""
        return show_time(value) if self.unit == "seconds" else show_size(value)


@dataclass(frozen=True)
class RealRounds:
    """The rounds of a run that were trained on real devices; at least one."""

    rounds: tuple[int, ...]
    attempts: tuple[int, ...]
    """How often each was started."""
    lost: tuple[int, ...]
    """Clients that failed in each."""
    series: tuple[Series, ...]

    def to_dict(self) -> dict[str, Any]:
        """For the script that draws them."""
        return {
            "round": self.rounds,
            "attempts": self.attempts,
            "lost": self.lost,
            "series": [
                {
                    "name": one.name,
                    "unit": one.unit,
                    "title": one.title,
                    "predicted": [float(f"{value:.5g}") for value in one.predicted],
                    "measured": [float(f"{value:.5g}") for value in one.measured],
                }
                for one in self.series
            ],
        }


def read_real(path: Path) -> RealRounds | None:
    """The real rounds in a rounds.jsonl; None where there are none."""
    records = read_lines(path, _Record)
    found = [(record, record.real) for record in records if record.real is not None]
    if not found:
        return None
    return RealRounds(
        rounds=tuple(record.round for record, _ in found),
        attempts=tuple(real.attempts for _, real in found),
        lost=tuple(record.lost for record, _ in found),
        series=tuple(_series(name, [real for _, real in found]) for name in KINDS),
    )


def _series(name: str, reals: list[_Real]) -> Series:
    unit, title = KINDS[name]
    sides = (
        ("predicted", "measured") if unit == "seconds" else ("predicted_bytes", "measured_bytes")
    )
    predicted, measured = (
        tuple(float(getattr(getattr(real, side), name)) for real in reals) for side in sides
    )
    return Series(name, unit, title, predicted, measured)
