"""A run's curve: how accurate it was after every round, and what that had taken."""

from __future__ import annotations

from pathlib import Path

from pydantic import ConfigDict, Field

from tiercut.documents import Document, read_lines
from tiercut.errors import InputError


class Point(Document):
    """What a curve needs of a round's record; the rest of the record is not looked at."""

    model_config = ConfigDict(extra="ignore")

    round: int = Field(ge=1)
    accuracy: float = Field(ge=0, le=1)
    seconds: float = Field(gt=0)
    """On the virtual clock since the start."""
    bytes: float = Field(gt=0)
    """Over all links since the start."""


def read_points(path: Path) -> tuple[Point, ...]:
    """The curve in a rounds.jsonl, from round 1 on; empty where a run has not begun."""
    points = tuple(read_lines(path, Point))
    for expected, point in enumerate(points, start=1):
        if point.round != expected:
            raise InputError(
                f"{path}: line {expected} is of round {point.round}; expected round {expected};"
                f" remove the run's folder and compare again"
            )
    return points
