"""When a curve reaches an accuracy."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


def reached_after(curve: Sequence[float] | np.ndarray, accuracy: float, start: float) -> float:
    """After how many steps `curve` first has `accuracy`, on straight lines; infinite if never.

    Entry i of the curve is after step i + 1, and `start` is the accuracy before the first.
    """
    points = np.concatenate([[start], curve])
    there = np.flatnonzero(points[1:] >= accuracy)
    if not len(there):
        return math.inf
    step = int(there[0])
    before, after = points[step], points[step + 1]
    return step if before >= accuracy else step + float((accuracy - before) / (after - before))


def show_percent(accuracy: float) -> str:
    """An accuracy for people, rounded down: what is said to be reached is."""
    return f"{math.floor(1000 * accuracy + 1e-9) / 10:g} %"
