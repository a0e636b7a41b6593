"""What a person sees of a run: a live line on a terminal, a line per round elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tiercut.train.observer import Observer, Start
from tiercut.units import show_size, show_time

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

    from tiercut.plan.replan import Replanned
    from tiercut.train.record import Record

WIDE = 110
"""Columns of a terminal that has room for a bar beside the numbers."""


@contextmanager
def watching_rounds() -> Iterator[Observer]:
    """Somebody who shows on standard error how a run gets on."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield Lines(console)
        return
    with _bar(console) as bar:
        yield Live(console, bar)


class Lines(Observer):
    """A plain line for everything that happened."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._rounds = 0

    def _say(self, text: str) -> None:
        self._console.print(text, soft_wrap=True, markup=False, highlight=False)

    def on_warning(self, message: str) -> None:
        """See Observer."""
        self._say(message)

    def on_start(self, start: Start) -> None:
        """See Observer."""
        self._rounds = start.rounds
        if start.done:
            self._say(f"going on after round {start.done}")

    def on_replan(self, number: int, replanned: Replanned) -> None:
        """See Observer."""
        left = f", {', '.join(replanned.left[:8])} left" if replanned.left else ""
        self._say(
            f"the fleet changed before round {number}{left}: a round of the new plan takes"
            f" {show_time(replanned.new.seconds.round)}, of the old one"
            f" {show_time(replanned.kept.seconds.round)}"
        )

    def on_restart(self, number: int, reason: str) -> None:
        """See Observer."""
        self._say(f"round {number} starts again: {reason}")

    def on_round(self, record: Record) -> None:
        """See Observer."""
        self._say(f"round {record.round}/{self._rounds}: {_describe(record)}")


class Live(Lines):
    """A bar that follows the epochs, with the last round's numbers."""

    def __init__(self, console: Console, bar: Progress) -> None:
        super().__init__(console)
        self._bar = bar
        self._task: TaskID | None = None
        self._epochs = 1

    def on_start(self, start: Start) -> None:
        """See Observer."""
        super().on_start(start)
        self._epochs = start.epochs
        last = _shorter(start.records[-1]) if start.records else ""
        self._task = self._bar.add_task(
            f"round {start.done + 1}/{start.rounds}",
            completed=start.done * start.epochs,
            total=start.rounds * start.epochs,
            last=last,
        )

    def on_epoch(self, number: int, epochs: int) -> None:
        """See Observer."""
        assert self._task is not None
        self._bar.update(
            self._task,
            completed=(number - 1) * self._epochs + epochs,
            description=f"round {number}/{self._rounds} epoch {epochs}/{self._epochs}",
        )

    def on_round(self, record: Record) -> None:
        """See Observer."""
        assert self._task is not None
        self._bar.update(self._task, last=_shorter(record))


def _describe(record: Record) -> str:
    return (
        f"accuracy {record.accuracy:.2%}, {show_time(record.seconds)} virtual,"
        f" {show_size(record.bytes)}, {record.samples_per_second:,.0f} samples/s"
    )


def _shorter(record: Record) -> str:
    """The same in what a terminal of 80 columns has left."""
    return _describe(record).removeprefix("accuracy ").replace(" samples/s", "/s")


def _bar(console: Console) -> Progress:
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    bar = [BarColumn(bar_width=20)] if console.width >= WIDE else []
    return Progress(
        TextColumn("{task.description}"),
        *bar,
        TextColumn("{task.fields[last]}"),
        TimeRemainingColumn(compact=True),
        TextColumn("left"),
        console=console,
        transient=True,
    )
