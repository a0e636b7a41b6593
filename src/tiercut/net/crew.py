"""The devices that are connected to the server, and what is known of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from tiercut.net.messages import Hello
from tiercut.net.workshop import Outbox


@dataclass(eq=False)
class Peer:
    """A device and its streams."""

    name: str
    hello: Hello
    control: Outbox
    task: asyncio.Task[Any]
    """Serves its control stream; cancelled to be rid of it."""
    data: Outbox | None = None
    examples: int | None = None
    heard: float = field(default_factory=time.monotonic)
    """When it last gave a sign of life."""
    answers: dict[str, asyncio.Future[Any]] = field(default_factory=dict)
    """Measurements that were asked for, by what of."""

    @property
    def joined(self) -> bool:
        """Whether it can take part in a round."""
        return self.data is not None and self.examples is not None

    def ask(self, what: str) -> asyncio.Future[Any]:
        """A place for the answer to something that it is asked to measure."""
        answer = self.answers[what] = asyncio.get_running_loop().create_future()
        return answer

    def answer(self, what: str, value: Any) -> None:
        """It has measured something; answers to what nobody asked are nothing."""
        waiting = self.answers.pop(what, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(value)

    def leave(self) -> None:
        """It is gone: nobody waits for its answers any more."""
        for waiting in self.answers.values():
            waiting.cancel()


class Crew:
    """Who is there now; whoever waits for a change is told."""

    def __init__(self) -> None:
        self.peers: dict[str, Peer] = {}
        self.version = 0
        """Counts the changes."""
        self._changed = asyncio.Condition()

    async def add(self, peer: Peer) -> None:
        """A device has connected; it replaces what it was before it lost its connection."""
        old = self.peers.get(peer.name)
        self.peers[peer.name] = peer
        if old is not None:
            old.task.cancel()
        await self.note_change()

    async def remove(self, peer: Peer) -> bool:
        """A device is gone; says whether it was the newest of its name."""
        peer.leave()
        newest = self.peers.get(peer.name) is peer
        if newest:
            del self.peers[peer.name]
            await self.note_change()
        return newest

    async def note_change(self) -> None:
        """Something about a device has changed."""
        async with self._changed:
            self.version += 1
            self._changed.notify_all()

    def joined(self) -> list[str]:
        """The names of those who can take part, in order."""
        return sorted(name for name, peer in self.peers.items() if peer.joined)

    async def wait_for(self, name: str, seconds: float) -> Peer | None:
        """The device called `name`, as soon as it is connected; None if it does not come."""
        try:
            async with asyncio.timeout(seconds), self._changed:
                await self._changed.wait_for(lambda: name in self.peers)
        except TimeoutError:
            return None
        return self.peers.get(name)

    async def wait_until(self, enough: Callable[[], object]) -> None:
        """Wait until something holds of the crew."""
        async with self._changed:
            await self._changed.wait_for(enough)

    async def wait_until_empty(self, seconds: float) -> None:
        """Wait until all are gone, but no longer than this."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.wait_until(lambda: not self.peers)
