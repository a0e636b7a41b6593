"""The devices that are connected to the server, and what is known of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from tiercut.net.messages import Hello
from tiercut.net.streams import Conversation
from tiercut.net.workshop import Outbox


@dataclass(eq=False)
class Peer:
    """A device and its streams."""

    name: str
    hello: Hello
    line: str
    """Its connection, which its streams share."""
    control: Outbox
    task: asyncio.Task[Any]
    """Serves its control stream; cancelled to be rid of it."""
    data: Outbox | None = None
    data_task: asyncio.Task[Any] | None = None
    """Serves its data stream, while it does."""
    ended: str | None = None
    """Why its streams are ended, where that is not its own doing."""
    examples: int | None = None
    heard: float = field(default_factory=time.monotonic)
    """When it last gave a sign of life."""
    answers: dict[str, asyncio.Future[Any]] = field(default_factory=dict)
    """Measurements that were asked for, by what of."""

    @property
    def joined(self) -> bool:
        """Whether it can take part in a round."""
        return self.data is not None and self.examples is not None

    @property
    def sent(self) -> int:
        """Bytes that came from it."""
        return sum(talk.received for talk in self._conversations())

    @property
    def received(self) -> int:
        """Bytes that went to it."""
        return sum(talk.sent for talk in self._conversations())

    def _conversations(self) -> list[Conversation[Any]]:
        boxes = (self.control,) if self.data is None else (self.control, self.data)
        return [box.conversation for box in boxes]

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
        """It is gone: nobody waits for its answers any more, nor listens to what it sends."""
        for waiting in self.answers.values():
            waiting.cancel()
        if self.data_task is not None:
            self.data_task.cancel()

    def hang_up(self, reason: str) -> None:
        """Be rid of it."""
        self.ended = self.ended or reason
        self.task.cancel()


class Crew:
    """Who is there now; whoever waits for a change is told."""

    def __init__(self) -> None:
        self.peers: dict[str, Peer] = {}
        self.version = 0
        """Counts the changes."""
        self._changed = asyncio.Condition()

    async def add(self, peer: Peer) -> bool:
        """A device has connected; says whether it replaces what it was on another connection."""
        old = self.peers.get(peer.name)
        self.peers[peer.name] = peer
        if old is not None:
            old.task.cancel()
        await self.note_change()
        return old is not None

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

    async def wait_for(self, name: str, line: str, seconds: float) -> Peer | None:
        """The device called `name` at the end of a line; None if it does not say hello there."""

        def there() -> Peer | None:
            peer = self.peers.get(name)
            return peer if peer is not None and peer.line == line else None

        try:
            async with asyncio.timeout(seconds), self._changed:
                return await self._changed.wait_for(there)
        except TimeoutError:
            return None

    async def wait_until(self, enough: Callable[[], object]) -> None:
        """Wait until something holds of the crew."""
        async with self._changed:
            await self._changed.wait_for(enough)

    async def wait_until_empty(self, seconds: float) -> None:
        """Wait until all are gone, but no longer than this."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.wait_until(lambda: not self.peers)
