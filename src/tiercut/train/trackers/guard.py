"""A tracker that must not stop a training: its service may be down for a while, or for good."""

from __future__ import annotations

from collections.abc import Callable

from tiercut.errors import InputError
from tiercut.train.observer import Observer, Start
from tiercut.train.record import Record


class Guarded(Observer):
    """Passes on what happens until the tracker fails; then it says so and goes on without it."""

    def __init__(self, name: str, tracker: Observer, warn: Callable[[str], None]) -> None:
        self._name, self._tracker, self._warn = name, tracker, warn
        self._works = False

    def on_start(self, start: Start) -> None:
        """Here it may refuse: nothing is lost yet."""
        try:
            self._tracker.on_start(start)
        except Exception as problem:
            raise InputError(
                f"{self._name} cannot be started: {problem}; correct that, or leave"
                f" --track {self._name} away"
            ) from problem
        self._works = True

    def on_round(self, record: Record) -> None:
        """See Observer."""
        self._try(lambda: self._tracker.on_round(record))

    def on_end(self) -> None:
        """See Observer."""
        self._try(self._tracker.on_end)

    def _try(self, tell: Callable[[], None]) -> None:
        if not self._works:
            return
        try:
            tell()
        except Exception as problem:
            self._works = False
            self._warn(
                f"{self._name} failed and is told nothing more: {problem}; rounds.jsonl has"
                f" everything"
            )
