"""How far a run has come: what a server's status tells of its rounds."""

from __future__ import annotations

from tiercut.net.status import LastRound
from tiercut.train.observer import Observer, Start
from tiercut.train.record import Record, Traffic


class Tally(Observer):
    """Counts the rounds. Another thread may read it: every value is replaced, never changed."""

    def __init__(self) -> None:
        self.done = 0
        """Rounds that were accepted, in this process or before."""
        self.trained = 0
        """Those of this process."""
        self.restarts = 0
        """How often a round had to start again."""
        self._last: Record | None = None
        self.bytes = Traffic(between=0.0, server=0.0, weights=0.0)
        """Measured, in the rounds of this process."""

    @property
    def last_round(self) -> LastRound | None:
        """The round that was accepted last."""
        record = self._last
        if record is None:
            return None
        return LastRound(
            round=record.round,
            accuracy=record.accuracy,
            clients=record.clients,
            lost=record.lost,
            real=record.real,
        )

    def on_start(self, start: Start) -> None:
        """See Observer."""
        self.done = start.done
        self._last = start.records[-1] if start.records else None

    def on_restart(self, number: int, reason: str) -> None:
        """See Observer."""
        self.restarts += 1

    def on_round(self, record: Record) -> None:
        """See Observer."""
        self.done, self._last = record.round, record
        self.trained += 1
        if record.real is not None:
            self.bytes = _sum(self.bytes, record.real.measured_bytes)


def _sum(one: Traffic, other: Traffic) -> Traffic:
    return Traffic(
        between=one.between + other.between,
        server=one.server + other.server,
        weights=one.weights + other.weights,
    )
