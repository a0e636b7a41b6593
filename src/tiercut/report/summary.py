"""summary.json of a comparison, as checked values: what pages and figures are made from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from tiercut.documents import Document, check, check_version, read_json

Cost = Literal["seconds", "bytes"]


class _Part(Document):
    """A newer tiercut may write more than is read here."""

    model_config = ConfigDict(extra="ignore")


class Spread(_Part):
    """One quantity over several seeds."""

    mean: float
    low: float
    high: float
    values: tuple[float, ...] = Field(strict=False)


class Band(_Part):
    """The same after every round."""

    mean: tuple[float, ...] = Field(strict=False)
    low: tuple[float, ...] = Field(strict=False)
    high: tuple[float, ...] = Field(strict=False)


class Curve(_Part):
    """Accuracy after every round, and what had been spent by then."""

    round: tuple[int, ...] = Field(strict=False)
    accuracy: Band
    seconds: tuple[float, ...] = Field(strict=False)
    bytes: tuple[float, ...] = Field(strict=False)

    @model_validator(mode="after")
    def _as_long(self) -> Self:
        band = self.accuracy
        columns = (self.round, band.mean, band.low, band.high, self.seconds, self.bytes)
        if len({len(column) for column in columns}) > 1:
            raise ValueError("the columns of a curve differ in length")
        return self


class Reached(_Part):
    """What a target took; the quantities are those of the seeds that reached it."""

    reached: int
    of: int
    rounds: Spread | None
    seconds: Spread | None
    bytes: Spread | None

    @property
    def by_all(self) -> bool:
        """Whether every seed reached it."""
        return self.of > 0 and self.reached == self.of


class Decision(_Part):
    """What was planned, and what a round of it takes."""

    aggregator_layer: int | None = None
    cut_layer: int | None = None
    cut_layers: tuple[int, ...] | None = Field(default=None, strict=False)
    aggregators: int | None = None
    round_seconds: float | None = None
    round_bytes: float | None = None
    binding: str | None = None


class SchemeSummary(_Part):
    """One scheme, over all its seeds."""

    title: str
    seeds: tuple[int, ...] = Field(strict=False)
    rounds_done: tuple[int, ...] = Field(strict=False)
    complete: bool
    final_accuracy: Spread | None
    best_accuracy: Spread | None
    curve: Curve | None
    targets: dict[str, Reached | None]
    decision: Decision | None = None

    def at(self, target: float) -> Reached | None:
        """What a target took; None where nothing is known of it."""
        return next((r for key, r in self.targets.items() if float(key) == target), None)


class Gain(_Part):
    """The share of another scheme's cost that a scheme saves; negative where it needs more."""

    scheme: str
    over: str
    target: float
    seconds: float | None
    bytes: float | None


class Summary(_Part):
    """A comparison."""

    version: int
    name: str
    model: str
    data: str
    clients: int
    batch: int | None = None
    """Like the next four, of all schemes; where they have their own, it is not here."""
    epochs: int | None = None
    portions: int = 1
    """An epoch is one of so many of the data."""
    outer_momentum: float = 0.0
    server_share: float = 1.0
    """Of every batch, what the server trains on under a local loss."""
    rounds: int
    cost: str
    targets: tuple[float, ...] = Field(strict=False)
    schemes: dict[str, SchemeSummary]
    gains: tuple[Gain, ...] = Field(strict=False)

    @property
    def seeds(self) -> tuple[int, ...]:
        """All seeds that any scheme was trained from."""
        return tuple(sorted({seed for s in self.schemes.values() for seed in s.seeds}))

    def title(self, scheme: str) -> str:
        """What people call a scheme."""
        return self.schemes[scheme].title if scheme in self.schemes else scheme

    def gain(self, scheme: str, over: str, target: float) -> Gain | None:
        """What `scheme` saves over another on the way to a target."""
        wanted = (scheme, over, target)
        return next((g for g in self.gains if (g.scheme, g.over, g.target) == wanted), None)

    def rivals(self) -> Iterator[tuple[str, str]]:
        """Who is compared with whom."""
        yield from dict.fromkeys((gain.scheme, gain.over) for gain in self.gains)


def read_summary(path: Path) -> Summary:
    """The summary in a file."""
    return summary_from_dict(read_json(path), str(path))


def summary_from_dict(data: Any, source: str) -> Summary:
    """A summary from its JSON object; `source` is its name in error messages."""
    check_version(data, source, "summary")
    return check(Summary, data, source)
