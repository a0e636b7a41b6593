"""How long the exact planner searches: work is counted, and a gap is good enough after a while."""

from __future__ import annotations

import time

Patience = tuple[tuple[float, float], ...]
"""Pairs of a gap and the work, in units, after which that gap is good enough."""

PATIENCE: Patience = ((0.001, 0.0), (0.0048, 1.0), (0.01, 40.0), (0.05, 400.0))
"""Which gap is good enough after how much work (in units of about a tenth of a second)."""
FIXED_NUMBER_PATIENCE: Patience = ((0.001, 0.0), (0.0048, 1.0), (0.02, 5.0), (1.0, 20.0))
"""The same with a fixed number of aggregators, where only counting bounds, and gaps stay wider."""
WORK_UNIT = 1e7
"""Work is counted in what takes about ten nanoseconds on a laptop."""


class Effort:
    """How much work was done, counted, so that results do not depend on the machine's speed.

    With a time limit the clock decides instead, and only a closed gap ends the search earlier.
    """

    def __init__(self, time_limit: float | None, patience: Patience) -> None:
        """Start counting."""
        self.spent = 0.0
        self.patience = patience
        self.deadline = None if time_limit is None else time.monotonic() + time_limit

    def is_late(self) -> bool:
        """Whether a time limit is over."""
        return self.deadline is not None and time.monotonic() >= self.deadline

    def remaining_seconds(self, most: float) -> float:
        """Seconds that a single step may take."""
        if self.deadline is None:
            return most
        return max(0.0, min(most, self.deadline - time.monotonic()))

    def accepts(self, gap: float, smallest_gap: float) -> bool:
        """Whether to stop at this gap now."""
        if gap <= smallest_gap:
            return True
        if self.deadline is not None:
            return self.is_late()
        units = self.spent / WORK_UNIT
        return any(gap <= good and units >= after for good, after in self.patience)
