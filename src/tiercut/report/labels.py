"""What nodes are called in a picture of groups, and where there is room to write it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tiercut.report.svg import text_width

INSIDE_SIZE, BELOW_SIZE = 9.0, 10.0
LINE_HEIGHT = 14.0
WIDEST = 84.0
"""What is longer is cut."""
MOST_BELOW = 40
"""In a larger fleet there is no room below every node."""


@dataclass(frozen=True)
class Labels:
    """Names without what all of them start with, and where they go."""

    short: tuple[str, ...]
    start: str
    """What all names start with."""
    where: Literal["inside", "below", "groups"]
    """In the nodes, below the nodes, or only below each group, for its aggregator."""

    @classmethod
    def of(cls, names: Sequence[str], room: float) -> Labels:
        """Labels for nodes that have so much `room` inside."""
        start = shared_start(names)
        short = tuple(name.removeprefix(start) for name in names)
        if all(text_width(name, INSIDE_SIZE) <= room for name in short):
            return cls(short, start, "inside")
        return cls(short, start, "below" if len(names) <= MOST_BELOW else "groups")

    @property
    def width(self) -> float:
        """How wide the widest label below a node is."""
        widest = max(text_width(name, BELOW_SIZE) for name in self.short)
        return min(WIDEST, widest) if self.where == "below" else 0.0


def shared_start(names: Sequence[str]) -> str:
    """What all names start with, up to the end of a word, if something is left of each: client-."""
    first, last = min(names), max(names)
    same = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), 0)
    word = re.match(r".*[\W_]", first[:same], re.DOTALL)
    return word[0] if word else ""
