"""What a person sees of a comparison: a live table on a terminal, a line per round elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING

from tiercut.compare.watcher import Watcher
from tiercut.train.observer import Observer, Start
from tiercut.units import show_time

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from tiercut.compare.comparison import Job
    from tiercut.measure.points import Point
    from tiercut.plan.replan import Replanned
    from tiercut.train.record import Record


TRAINING = "training"
"""What the row of a run says that is at work."""
INTERESTING = (TRAINING, "retried", "failed", "waiting", "finished")
"""States, those first that are shown where there is no room for all runs."""
FRAME = 7
"""Lines of a terminal that are not rows: title, heads, borders, caption, and one to write on."""


@dataclass(frozen=True)
class Row:
    """How a run gets on."""

    job: Job
    state: str = "waiting"
    done: int = 0
    accuracy: float | None = None
    round_seconds: float | None = None
    """What a round takes on this machine; None where that is not known yet."""

    def seconds_left(self, usual: float | None) -> float | None:
        """What the rest takes, if its rounds take as long as the others, or as usual."""
        each = usual if self.round_seconds is None else self.round_seconds
        left = 0 if self.state in ("failed", "finished") else self.job.rounds - self.done
        return None if each is None else each * left


class Board(Watcher):
    """Keeps a row for every run, and says in plain lines what happens."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self.rows: dict[Job, Row] = {}

    def say(self, text: str) -> None:
        """A line of its own."""
        self._console.print(text, soft_wrap=True, markup=False, highlight=False)

    def change(self, job: Job, **changes: object) -> Row:
        """Change what a run's row says."""
        self.rows[job] = replace(self.rows[job], **changes)  # type: ignore[arg-type]
        return self.rows[job]

    def seconds_left(self) -> float | None:
        """What all the rest takes, as far as one can tell."""
        known = [row.round_seconds for row in self.rows.values() if row.round_seconds is not None]
        if not known:
            return None
        left = [row.seconds_left(fmean(known)) or 0 for row in self.rows.values()]
        at_once = sum(row.state == TRAINING for row in self.rows.values())
        return max(sum(left) / max(at_once, 1), *left)

    def on_jobs(self, jobs: Sequence[Job]) -> None:
        """See Watcher."""
        self.rows = {job: Row(job) for job in jobs}

    def watch(self, job: Job) -> Observer:
        """See Watcher."""
        return Reporter(self, job)

    def on_lost(self, job: Job, message: str) -> None:
        """See Watcher."""
        self.change(job, state="retried")
        self.say(f"{job}: {message}")

    def on_finished(self, job: Job, last: Point) -> None:
        """See Watcher."""
        row = self.change(job, state="finished", done=last.round, accuracy=last.accuracy)
        if row.round_seconds is None:  # nobody has heard of it yet
            self.say(f"{job}: finished before, accuracy {last.accuracy:.2%}")

    def on_failed(self, job: Job, message: str) -> None:
        """See Watcher."""
        self.change(job, state="failed")
        self.say(f"{job}: {message}")

    def tell(self, job: Job) -> None:
        """Say how a run stands."""
        row = self.rows[job]
        assert row.accuracy is not None
        text = f"{job}: round {row.done}/{job.rounds}, accuracy {row.accuracy:.2%}"
        left = row.seconds_left(None)
        self.say(f"{text}, {show_time(left)} left" if left else text)


class Reporter(Observer):
    """Writes onto the board what happens in one run."""

    def __init__(self, board: Board, job: Job) -> None:
        self._board, self._job = board, job
        self._seconds: list[float] = []

    def on_warning(self, message: str) -> None:
        """See Observer."""
        self._board.say(f"{self._job}: {message}")

    def on_start(self, start: Start) -> None:
        """See Observer."""
        accuracy = start.records[-1].accuracy if start.records else None
        self._board.change(self._job, state=TRAINING, done=start.done, accuracy=accuracy)
        if start.done:
            self._board.say(f"{self._job}: going on after round {start.done}")

    def on_replan(self, number: int, replanned: Replanned) -> None:
        """See Observer."""
        self._board.say(
            f"{self._job}: the fleet changed before round {number}; there is a new plan"
        )

    def on_round(self, record: Record) -> None:
        """See Observer."""
        self._seconds.append(record.wall_seconds)
        self._board.change(
            self._job,
            done=record.round,
            accuracy=record.accuracy,
            round_seconds=fmean(self._seconds),
        )
        self._board.tell(self._job)


class LiveBoard(Board):
    """Shows the rows as a table that changes in its place."""

    def __init__(self, console: Console) -> None:
        from rich.live import Live

        super().__init__(console)
        self.display = Live(self, console=console, transient=True)

    def on_jobs(self, jobs: Sequence[Job]) -> None:
        """See Watcher."""
        super().on_jobs(jobs)
        self.display.refresh()  # nobody need wait for the next of its own

    def tell(self, job: Job) -> None:
        """The table does."""

    def __rich__(self) -> Table:
        """The table as it is now."""
        from rich.markup import escape
        from rich.table import Table

        left = self.seconds_left()
        done = sum(row.done for row in self.rows.values())
        title = f"{done} of {sum(job.rounds for job in self.rows)} rounds"
        table = Table(title=title if left is None else f"{title}, about {show_time(left)} left")
        labelled = any(job.label for job in self.rows)
        heads = ("scheme", *(("setting",) if labelled else ()), "seed", "", "round")
        for column in (*heads, "accuracy %", "left"):
            is_text = column in ("scheme", "setting", "")
            table.add_column(column, justify="left" if is_text else "right")
        shown = self._shown()
        for row in shown:
            job, own = row.job, row.seconds_left(None)
            table.add_row(
                escape(job.scheme),
                *((escape(job.label),) if labelled else ()),
                str(job.seed),
                row.state,
                f"{row.done}/{job.rounds}",
                "" if row.accuracy is None else f"{100 * row.accuracy:.2f}",
                show_time(own) if own else "",
            )
        if len(shown) < len(self.rows):
            states = Counter(row.state for row in self.rows.values())
            table.caption = ", ".join(f"{states[s]} {s}" for s in INTERESTING if states[s])
        return table

    def _shown(self) -> list[Row]:
        """As many rows as there is room for, in their usual order."""
        rows, room = list(self.rows.values()), max(3, self._console.height - FRAME)
        first = sorted(rows, key=lambda row: INTERESTING.index(row.state))[:room]
        return [row for row in rows if row in first]


@contextmanager
def watching_runs() -> Iterator[Watcher]:
    """Somebody who shows on standard error how a comparison gets on."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield Board(console)
        return
    board = LiveBoard(console)
    with board.display:
        yield board
