"""What a person sees while something takes long: a line on standard error that goes away."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tiercut.plan.solution import Progress


class Count(Protocol):
    """Says how many steps are done, of how many, and which one is next."""

    def __call__(self, done: int, total: int, step: str = "") -> None:
        """Show it."""


@contextmanager
def counting(what: str) -> Iterator[Count]:
    """A progress bar; nothing at all where standard error is no terminal."""
    from rich.console import Console
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    with Bar(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=None)

        def show(done: int, total: int, step: str = "") -> None:
            bar.update(task, completed=done, total=total, description=step or what)

        yield show


@contextmanager
def watching(what: str) -> Iterator[Progress]:
    """A line that follows a search: its best plan so far, and how good that is proved to be."""
    from rich.console import Console

    from tiercut.units import show_time

    with Console(stderr=True).status(f"{what} ...") as status:

        def show(seconds: float, lower_bound: float) -> None:
            if seconds < math.inf:
                gap = 1 - lower_bound / seconds
                status.update(f"{what}: best {show_time(seconds)}, within {gap:.2%} of optimal")

        yield show
