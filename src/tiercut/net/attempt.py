"""One attempt at a round, as the server sees it: who is still in it, and what has come to an end.

Lives on the event loop. A client that fails is left out of the rest of the round. A client whose
work others depend on cannot be: the attempt is given up then, and the round starts again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Literal

from tiercut.cost import Placement
from tiercut.engines.schedule import Schedule
from tiercut.engines.task import RoundLost
from tiercut.net.due import Due
from tiercut.net.letters import Tag
from tiercut.net.messages import Finished

Part = str
Loss = Literal["gone", "late", "unreachable", "failed", "refused"]
"""Why a client is lost, in one word: for counting."""


@dataclass(frozen=True)
class Reactions:
    """What the server does when a client is lost."""

    forget: Callable[[int], None]
    """Make the server's own node go on without it."""
    tell: Callable[[int, int], None]
    """Tell an aggregator (first) that a client of its own (second) is lost."""
    note: Callable[[int, str], None]
    """Tell people."""


class Attempt:
    """Who has come how far."""

    def __init__(
        self,
        tag: Tag,
        placement: Placement,
        schedule: Schedule,
        due: Mapping[int, Due],
        reactions: Reactions,
    ) -> None:
        self.tag, self.schedule, self.due = tag, schedule, due
        self.aggregator_of = {n: int(placement.aggregator_of[n]) for n in schedule.turns}
        self.present = set(schedule.turns)
        self.lost: dict[int, str] = {}
        self.losses: Counter[str] = Counter()
        """How many of them for which kind of reason."""
        self.late: set[int] = set()
        """Those of them who took too long."""
        self.ready: set[int] = set()
        self.finished: dict[int, Finished] = {}
        self.epochs = 0
        """Epochs that are over at the server."""
        self._waiting = {(part, n) for part in ("client", "aggregator") for n in self.present}
        self._reactions = reactions
        self._changed = asyncio.Event()
        self._failure: str | None = None

    # ---------------------------------------------------------------------------- what happened

    def on_ready(self, client: int) -> None:
        """A device has its weights."""
        self.ready.add(client)
        self._changed.set()

    def on_epoch(self, number: int) -> None:
        """Epoch `number` is over at the server."""
        self.epochs = number
        self._changed.set()

    def on_upload(self, part: Part, clients: Sequence[int]) -> None:
        """What was trained for some clients has come."""
        self._waiting.difference_update((part, n) for n in clients)
        self._changed.set()

    def on_finished(self, client: int, message: Finished) -> None:
        """A device has done everything."""
        self.finished.setdefault(client, message)
        self._changed.set()

    def lose(self, client: int, reason: str, kind: Loss = "gone") -> None:
        """Go on without a client, or give up where that cannot be done."""
        if client not in self.present or self.is_done(client):
            return
        self.present.discard(client)
        self.lost[client] = reason
        self.losses[kind] += 1
        self.late |= {client} if kind == "late" else set()
        self._reactions.note(client, reason)
        if any(k == client for n, k in self.aggregator_of.items() if n in self.present):
            name = self.schedule.turns[client].source
            self.give_up(f"{name} served others and is lost: {reason}")
        elif not self.present:
            self.give_up("nobody is left")
        else:
            for due in self.due.values():
                due.lost.add(client)
            self._reactions.forget(client)
            self._reactions.tell(self.aggregator_of[client], client)
        self._changed.set()

    def give_up(self, reason: str) -> None:
        """End the attempt; the first reason counts."""
        self._failure = self._failure or reason
        self._changed.set()

    # ------------------------------------------------------------------------- what is waited for

    def is_done(self, client: int) -> bool:
        """Whether nothing more is expected of a device."""
        waiting = {("client", client), ("aggregator", client)} & self._waiting
        return client in self.finished and not waiting

    def unfinished(self) -> Set[int]:
        """Those of whom more is expected."""
        return {n for n in self.present if not self.is_done(n)}

    async def wait(
        self, done: Callable[[], bool], seconds: float, late: Callable[[], Set[int]], what: str
    ) -> None:
        """Wait until something is done; who is late after so many seconds is lost."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while not done():
            self._check()
            try:
                async with asyncio.timeout_at(end):
                    await self._changed.wait()
            except TimeoutError:
                self._lose_late(late(), f"{what} took longer than {seconds:.1f} s")
                end = loop.time() + seconds  # for those who only waited for the late ones
            self._changed.clear()
        self._check()

    def _lose_late(self, late: Set[int], reason: str) -> None:
        """Go on without the late ones; where nobody is to blame there is no going on."""
        before = len(self.lost)
        # Who is served goes before who serves: a slow group is left out as a whole.
        for n in sorted(late or self.present, key=self._serves_itself):
            self.lose(n, reason, "late")
        if len(self.lost) == before:
            self.give_up(reason)

    def _serves_itself(self, client: int) -> tuple[bool, int]:
        return self.aggregator_of[client] == client, client

    def _check(self) -> None:
        if self._failure is not None:
            raise RoundLost(self._failure)
