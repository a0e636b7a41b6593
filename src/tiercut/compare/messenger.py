"""What happens in a run as messages, so that it can be told in another process."""

from __future__ import annotations

from collections.abc import Callable
from operator import methodcaller

from tiercut.plan.replan import Replanned
from tiercut.train.observer import Observer, Start
from tiercut.train.record import Record

Message = Callable[[Observer], None]
"""Tells an observer what happened."""


class Messenger(Observer):
    """Sends all that it is told; a message can be pickled."""

    def __init__(self, send: Callable[[Message], None]) -> None:
        self._send = send

    def on_warning(self, message: str) -> None:
        """See Observer."""
        self._send(methodcaller("on_warning", message))

    def on_start(self, start: Start) -> None:
        """See Observer."""
        self._send(methodcaller("on_start", start))

    def on_replan(self, number: int, replanned: Replanned) -> None:
        """See Observer."""
        self._send(methodcaller("on_replan", number, replanned))

    def on_restart(self, number: int, reason: str) -> None:
        """See Observer."""
        self._send(methodcaller("on_restart", number, reason))

    def on_epoch(self, number: int, epochs: int) -> None:
        """See Observer."""
        self._send(methodcaller("on_epoch", number, epochs))

    def on_round(self, record: Record) -> None:
        """See Observer."""
        self._send(methodcaller("on_round", record))

    def on_end(self) -> None:
        """See Observer."""
        self._send(methodcaller("on_end"))
