"""When to keep the workers' states: so rarely that it costs little, so often that little is lost.

A worker that is lost starts from the state that was kept last and does again what came after. From
the same orders it gets the same weights, so that this decides how long that takes and nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

SHARE = 0.05
"""Of the time, for keeping states. A small state is kept after every epoch."""
MOST_ORDERS = 64
"""Orders that a worker would be given again; what came with them stays in memory until then."""


class Keeping:
    """Measures what it costs to keep the states."""

    def __init__(self, share: float = SHARE) -> None:
        self._share, self._cost = share, 0.0
        self.restart()

    def restart(self) -> None:
        """The states are as good as kept."""
        self._since = time.perf_counter()

    def is_due(self, orders: int) -> bool:
        """Whether to keep them now, so many orders after the last time."""
        passed = time.perf_counter() - self._since
        return self._cost <= self._share * passed or orders >= MOST_ORDERS

    @contextmanager
    def measuring(self) -> Iterator[None]:
        """Keep them within this."""
        begin = time.perf_counter()
        yield
        self._cost = time.perf_counter() - begin
        self.restart()
