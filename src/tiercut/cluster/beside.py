"""Workers that are processes of this machine, beside each other: they share its cores and its GPU.

A process does one piece of work and ends, so that what it took of a GPU is there for the next.
"""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from threading import Thread
from typing import Any, Generic

from tiercut.cluster.workers import (
    Claim,
    Common,
    Ended,
    Hear,
    Item,
    Loss,
    OnLost,
    Result,
    Terms,
    Work,
    attempt,
    carry_out,
    claim_nothing,
)
from tiercut.errors import RoomError

ATTEMPTS = 2
"""How often a piece of work is begun: what is killed twice has no room here."""
REMEDY = "where memory is too small for so many, give fewer --at-once"


@dataclass(frozen=True)
class Beside:
    """So many processes at a time."""

    at_once: int
    memory = None

    def do(
        self,
        work: Work[Common, Item, Result],
        common: Common,
        items: Sequence[Item],
        *,
        hear: Hear[Item],
        on_lost: OnLost[Item],
        claim: Claim[Item] = claim_nothing,
    ) -> Generator[Ended[Item, Result], None, None]:
        """See Workers."""
        terms = Terms(self.at_once, ATTEMPTS, REMEDY)
        return carry_out(_Processes(work, common), items, terms, hear=hear, on_lost=on_lost)


@dataclass(frozen=True)
class Bug:
    """What a piece of work should never have raised."""

    cause: Exception


class _Processes(Generic[Item]):
    """The pieces that are begun and not over, by the pipe from the process of each."""

    def __init__(self, work: Work[Common, Item, Result], common: Common) -> None:
        self._task = (work, common)
        self._running: dict[Connection, tuple[Item, BaseProcess]] = {}
        self._context = get_context("spawn")  # who was forked from a user of a GPU cannot use it

    def __len__(self) -> int:
        return len(self._running)

    def begin(self, item: Item) -> None:
        """Start a process for a piece."""
        mine, theirs = self._context.Pipe(duplex=False)
        process = self._context.Process(target=serve, args=(theirs, *self._task, item))
        process.start()
        theirs.close()  # only the process has it now, so that its end ends the pipe
        self._running[mine] = item, process

    def listen(self) -> tuple[Item, Any]:
        """See Pieces; what a piece raises that cannot be explained is a bug, and raised here."""
        pipe: Any = wait([*self._running])[0]
        item, process = self._running[pipe]
        try:
            said = pipe.recv()
        except (EOFError, OSError):  # killed between two messages, or in the middle of one
            process.join()
            said = Loss(f"its process ended with exit code {process.exitcode}")
        if isinstance(said, Bug):
            raise said.cause
        if isinstance(said, Ended | Loss):
            del self._running[pipe]
            pipe.close()
            process.join()
        return item, said

    def stop(self) -> None:
        """See Pieces."""
        for pipe, (_, process) in self._running.items():
            process.kill()
            process.join()
            pipe.close()


def serve(pipe: Connection, work: Work[Common, Item, Result], common: Common, item: Item) -> None:
    """Do a piece of work in a process of its own: what is said in it, and then how it ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who began this ends it, too
    Thread(target=_end_with_parent, daemon=True).start()
    try:
        end: Any = attempt(work, common, item, pipe.send)
        if isinstance(end.problem, RoomError):  # there may be room once another is over
            end = Loss(str(end.problem))
    except Exception as bug:
        bug.add_note(f"in a process of its own:\n{traceback.format_exc()}")
        end = Bug(bug)
    pipe.send(end)


def _end_with_parent() -> None:
    """Nobody goes on whose work nobody waits for, however whoever began it ended."""
    parent = parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)
