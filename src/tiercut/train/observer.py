"""Who is told what happens in a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiercut.plan.replan import Replanned
from tiercut.train.record import Record


@dataclass(frozen=True)
class Start:
    """A run that is about to train."""

    folder: Path
    done: int
    """Rounds that were trained before."""
    rounds: int
    """Rounds there will be."""
    epochs: int
    """Epochs in a round."""
    manifest: dict[str, Any]
    records: tuple[Record, ...]
    """Of the rounds that were trained before."""


class Observer:
    """Takes no note of anything; override what is of interest."""

    def on_warning(self, message: str) -> None:
        """Something is not as it should be, and the run goes on."""

    def on_start(self, start: Start) -> None:
        """Training is about to start."""

    def on_replan(self, number: int, replanned: Replanned) -> None:
        """The fleet changed before round `number`, and there is a new plan."""

    def on_restart(self, number: int, reason: str) -> None:
        """An attempt at round `number` was given up, and the round starts again."""

    def on_epoch(self, number: int, epochs: int) -> None:
        """So many epochs of round `number` are done."""

    def on_round(self, record: Record) -> None:
        """A round is over, and its record is on the disk."""

    def on_end(self) -> None:
        """There is nothing more to come, whether all went well or not."""


class Everybody(Observer):
    """Tells several observers, in turn."""

    def __init__(self, observers: tuple[Observer, ...]) -> None:
        self._observers = observers

    def on_warning(self, message: str) -> None:
        """See Observer."""
        for observer in self._observers:
            observer.on_warning(message)

    def on_start(self, start: Start) -> None:
        """See Observer."""
        for observer in self._observers:
            observer.on_start(start)

    def on_replan(self, number: int, replanned: Replanned) -> None:
        """See Observer."""
        for observer in self._observers:
            observer.on_replan(number, replanned)

    def on_restart(self, number: int, reason: str) -> None:
        """See Observer."""
        for observer in self._observers:
            observer.on_restart(number, reason)

    def on_epoch(self, number: int, epochs: int) -> None:
        """See Observer."""
        for observer in self._observers:
            observer.on_epoch(number, epochs)

    def on_round(self, record: Record) -> None:
        """See Observer."""
        for observer in self._observers:
            observer.on_round(record)

    def on_end(self) -> None:
        """See Observer."""
        for observer in self._observers:
            observer.on_end()
