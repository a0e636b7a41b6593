"""The one thread on which a node computes, and the mail that waits to be sent.

Nodes are not written for several threads: everything they do happens here, one thing after another.
The event loop hands messages in and takes messages out, and never waits for a computation.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from tiercut.documents import Document
from tiercut.net.frames import Piece
from tiercut.net.streams import Conversation

T = TypeVar("T")

MOST_WAITING = 256 * 2**20
"""Bytes that may wait to be computed on, or to be sent to one peer, before whoever adds to them is
made to wait. A slow link or server then slows down its senders instead of filling their memory."""


class Room:
    """How many bytes may come in before the computation has to catch up."""

    def __init__(self, limit: int = MOST_WAITING) -> None:
        self._free = self._limit = limit
        self._changed = asyncio.Condition()

    async def take(self, size: int) -> None:
        """Wait until there is room; what is larger than all room there is waits for all of it."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._free >= min(size, self._limit))
            self._free -= size

    async def give(self, size: int) -> None:
        """Make room again."""
        async with self._changed:
            self._free += size
            self._changed.notify_all()


class Workshop:
    """Runs work one piece after another, on a thread of its own or one that nodes share."""

    def __init__(
        self, on_failure: Callable[[BaseException], None], shared: ThreadPoolExecutor | None = None
    ) -> None:
        self.loop = asyncio.get_running_loop()
        self._shared = shared is not None
        self._pool = shared or ThreadPoolExecutor(1, thread_name_prefix="workshop")
        self._room = Room()
        self._on_failure = on_failure
        self._tasks: set[asyncio.Task[None]] = set()

    def add(self, work: Callable[[], None]) -> None:
        """Let something be done after all that waits already; from any thread."""
        self._pool.submit(work).add_done_callback(self._check)

    async def do(self, work: Callable[[], T]) -> T:
        """The same, and wait for its result."""
        return await self.loop.run_in_executor(self._pool, work)

    async def take_in(self, work: Callable[[], None], size: int) -> None:
        """Let a message of `size` bytes be acted upon; waits while too much waits already."""
        await self._room.take(size)
        future = self._pool.submit(work)
        future.add_done_callback(self._check)
        future.add_done_callback(lambda _: self._tell(self._give, size))

    def _give(self, size: int) -> None:
        task = self.loop.create_task(self._room.give(size))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _check(self, future: Future[None]) -> None:
        problem = None if future.cancelled() else future.exception()
        if problem is not None:
            self._tell(self._on_failure, problem)

    def _tell(self, what: Callable[[T], None], value: T) -> None:
        """Let the loop know something, unless it has ended: what is being done may outlive it."""
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(what, value)

    def close(self) -> None:
        """Drop what waits on the own thread; what is being done is finished."""
        if not self._shared:
            self._pool.shutdown(wait=False, cancel_futures=True)


class Outbox:
    """Messages for one peer, sent in order by a task of the event loop."""

    def __init__(self, conversation: Conversation[Any], limit: int = MOST_WAITING) -> None:
        self.conversation, self._limit = conversation, limit
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[tuple[Document, Sequence[Piece], int]] = asyncio.Queue()
        self._room = threading.Condition()
        self._waiting = 0
        self._closed = False

    @property
    def backlog(self) -> int:
        """Messages that wait to be sent."""
        return self._queue.qsize()

    def put(self, header: Document, payload: Sequence[Piece] = ()) -> None:
        """Add a message, from any thread but the loop's own where there is a payload."""
        size = sum(map(len, payload))
        with self._room:
            self._room.wait_for(lambda: self._closed or not size or self._waiting < self._limit)
            if self._closed:  # whoever closed it has told everybody why
                return
            self._waiting += size
        self._loop.call_soon_threadsafe(self._queue.put_nowait, (header, payload, size))

    async def run(self) -> None:
        """Send until cancelled, or until the peer is gone."""
        try:
            while True:
                header, payload, size = await self._queue.get()
                await self.conversation.send(header, payload)
                with self._room:
                    self._waiting -= size
                    self._room.notify_all()
        finally:
            with self._room:
                self._closed = True
                self._room.notify_all()
