"""Where devices come in at the server: who is let in, who has fallen silent, and what they say."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Literal, Protocol

import grpc

from tiercut.net.crew import Crew, Peer
from tiercut.net.door import Door
from tiercut.net.frames import Refused, Skip
from tiercut.net.letters import Letter
from tiercut.net.logs import Log
from tiercut.net.messages import (
    PROTOCOL,
    Bye,
    Capacity,
    Cut,
    Data,
    Finished,
    FromNode,
    Hello,
    Job,
    LinkRate,
    Probe,
    Probed,
    Ready,
    Stock,
    Welcome,
    read_data,
    read_from_node,
)
from tiercut.net.probing import Meter
from tiercut.net.shift import MOST_BATCHES
from tiercut.net.streams import (
    MOST_MESSAGE,
    Conversation,
    Gone,
    Security,
    new_server,
    no_payload,
    reason_of,
)
from tiercut.net.tasks import until_one_ends
from tiercut.net.workshop import Outbox

SILENCE = 10.0
"""Seconds without a sign of life after which a device counts as gone."""
GREETING = 10.0
"""Seconds that a device has to say who it is."""


FAREWELL = 5.0
"""Seconds that devices have to leave when training is over."""
PARTING = 1.0
"""Seconds that streams have to end then, before gRPC breaks them off and says so."""

Refusal = Literal["caller", "hello", "message", "data"]
"""What was refused, in one word: for counting."""


class Unwanted(Refused):
    """A device cannot take part as it is; it need not knock again."""


class Listener(Protocol):
    """Who is told what the devices of a round say."""

    def on_word(self, name: str, message: Ready | Cut | Finished) -> None:
        """A device said something about a round."""

    def allowed(self, name: str, header: Letter, stream: object) -> int | Skip:
        """How much may follow a header that came on a stream."""

    async def on_letter(self, name: str, header: Letter, payload: memoryview) -> None:
        """Tensors have come; returns when the next may."""

    def on_refused(self, name: str, refused: Refused) -> None:
        """A device that takes part said what it must not."""

    def on_left(self, name: str, reason: str) -> None:
        """A device is gone."""


class Reception:
    """Serves the streams of all devices."""

    def __init__(
        self,
        security: Security,
        job: Job,
        log: Log,
        status: Callable[[], Mapping[str, Any]],
    ) -> None:
        self._security, self._job, self._log, self._status = security, job, log, status
        self._door = Door(security)
        self.listener: Listener | None = None
        """Once training has started."""
        self.crew = Crew()
        self.roster: dict[str, int] | None = None
        """Once training has started: the names that take part, and their examples."""
        self.refusals: Counter[str] = Counter()
        """How often something was refused, by what it was."""
        self._farewell: str | None = None

    async def start(self, listen: str) -> str:
        """Listen at host:port; returns the address."""
        self._server = new_server(
            {"Control": self._control, "Data": self._data, "Status": self._tell_status}
        )
        self._watch = asyncio.get_running_loop().create_task(self._watch_silence())
        port = self._security.listen(self._server, listen)
        await self._server.start()
        return f"{listen.rpartition(':')[0]}:{port}"

    async def stop(self, farewell: str | None) -> None:
        """End all streams; without a farewell the devices wait for the server to come back."""
        self._farewell = farewell
        if farewell is not None:
            for peer in tuple(self.crew.peers.values()):
                peer.control.put(Bye(reason=farewell))
            await self.crew.wait_until_empty(FAREWELL)
        self._watch.cancel()
        for peer in tuple(self.crew.peers.values()):
            peer.hang_up("the server stops")
        await self._server.stop(PARTING)

    def _refuse(self, peer: str, what: Refusal, refused: Refused) -> None:
        self.refusals[what] += 1  # not by the reason, which the peer may have a hand in
        self._log.warn("refused", peer=peer, what=what, reason=str(refused))
        if self.listener is not None and self.roster is not None and peer in self.roster:
            self.listener.on_refused(peer, refused)

    @asynccontextmanager
    async def _turning_away(self, context: Any, peer: str, what: Refusal) -> AsyncIterator[None]:
        """End a stream with the reason for which something is refused meanwhile."""
        try:
            yield
        except Refused as refused:
            self._refuse(peer, what, refused)
            await context.abort(grpc.StatusCode.PERMISSION_DENIED, str(refused))

    async def _watch_silence(self) -> None:
        """A link that was cut says nothing; neither does a device that hangs."""
        while True:
            await asyncio.sleep(SILENCE / 4)
            now = time.monotonic()
            for peer in tuple(self.crew.peers.values()):
                if now - peer.heard > SILENCE:
                    self._log.warn("silent", node=peer.name, seconds=round(now - peer.heard, 1))
                    peer.hang_up("it fell silent")

    # ------------------------------------------------------------------------------ control streams

    async def _control(self, context: Any) -> None:
        async with self._turning_away(context, context.peer(), "caller"):
            name = self._door.name_of(context)
        async with self._turning_away(context, name, "hello"):
            with self._door.open_for(name):
                await self._greet(name, context)

    async def _greet(self, name: str, context: Any) -> None:
        talk = Conversation(context, name, read_from_node, no_payload)
        words = talk.receive()
        try:
            first = await asyncio.wait_for(anext(words), GREETING)
        except (TimeoutError, StopAsyncIteration):
            raise Refused(f"a device that does not say hello{_if_cut(context)}") from None
        unwanted = self._unwanted(name, first.header)
        if unwanted is not None:
            self._refuse(name, "hello", Refused(unwanted))
            await talk.send(Bye(reason=unwanted, refused=True))
            return
        assert isinstance(first.header, Hello)
        task = asyncio.current_task()
        assert task is not None
        peer = Peer(name, first.header, context.peer(), Outbox(talk), task)
        if await self.crew.add(peer):
            self._tell_left(name, "it connected again")
        self._log("connected", node=name, address=first.header.address)
        reason = "it ended the conversation"
        try:
            peer.control.put(Welcome(job=self._job))
            await until_one_ends(self._converse(peer, words, context), peer.control.run())
            reason += _if_cut(context)
        except Unwanted as unfit:
            reason = f"it was sent home: {unfit}"
            self._refuse(name, "hello", unfit)
            await talk.send(Bye(reason=str(unfit), refused=True))
        except Refused as refused:
            reason = f"it was refused: {refused}"
            self._refuse(name, "message", refused)
            await context.abort(grpc.StatusCode.PERMISSION_DENIED, str(refused))
        except (grpc.aio.AioRpcError, Gone) as problem:
            reason = reason_of(problem)
        except asyncio.CancelledError:  # by gRPC or by ourselves; the stream just ends
            reason = peer.ended or "the connection was lost"
        finally:
            # As a whole: a device's two streams end one another, and so this may be ended twice.
            await asyncio.shield(self._see_off(peer, reason))

    async def _see_off(self, peer: Peer, reason: str) -> None:
        if await self.crew.remove(peer):
            if self._farewell is None:
                self._log.warn("left", node=peer.name, reason=reason)
            else:
                self._log("left", node=peer.name, reason=self._farewell)
            self._tell_left(peer.name, reason)

    def _tell_left(self, name: str, reason: str) -> None:
        if self.listener is not None:
            self.listener.on_left(name, reason)

    def _unwanted(self, name: str, first: FromNode) -> str | None:
        """Why a device cannot take part."""
        if not isinstance(first, Hello):
            return "a device says hello first"
        if first.protocol != PROTOCOL:
            return (
                f"it speaks protocol {first.protocol} and this server {PROTOCOL}; install the same"
                f" version of tiercut on both"
            )
        if self.roster is not None and name not in self.roster:
            return f"{name} was not there when training started; it can join the next run"
        return None

    async def _converse(self, peer: Peer, words: Any, context: Any) -> None:
        async for arrival in words:
            self._door.name_of(context)  # still
            peer.heard = time.monotonic()
            await self._act_on(peer, arrival.header)

    async def _act_on(self, peer: Peer, message: FromNode) -> None:
        if isinstance(message, Stock):
            self._check_stock(peer, message)
            peer.examples = message.examples
            self._log("joined", node=peer.name, examples=message.examples)
            await self.crew.note_change()
        elif isinstance(message, Capacity):
            peer.answer("throughput", message.throughput)
        elif isinstance(message, LinkRate):
            peer.answer(f"rate to {message.peer}", message.rate)
        elif isinstance(message, Hello):
            raise Refused("a second hello")
        elif isinstance(message, Ready | Cut | Finished) and self.listener is not None:
            self.listener.on_word(peer.name, message)

    def _check_stock(self, peer: Peer, message: Stock) -> None:
        if peer.examples is not None:
            raise Refused("a second word about its examples")
        if message.examples // self._job.batch > MOST_BATCHES:
            raise Unwanted(f"it has more than {MOST_BATCHES:,} batches of examples")
        had = None if self.roster is None else self.roster[peer.name]
        if had is not None and had != message.examples:
            raise Unwanted(
                f"{peer.name} had {had} examples when training started and has {message.examples};"
                f" join with the data that it had"
            )

    # --------------------------------------------------------------------------------- data streams

    async def _data(self, context: Any) -> None:
        async with self._turning_away(context, context.peer(), "caller"):
            name = self._door.name_of(context)
        async with self._turning_away(context, name, "data"):
            with self._door.open_for(name):
                peer = await self.crew.wait_for(name, context.peer(), GREETING)
                if peer is None:
                    raise Refused("data of a device that does not say hello")
                if peer.data is not None:
                    raise Refused("a second stream of data")
                await self._exchange(peer, context)

    async def _exchange(self, peer: Peer, context: Any) -> None:
        talk = Conversation(context, peer.name, read_data, partial(self._allowed, peer))
        peer.data, peer.data_task = Outbox(talk), asyncio.current_task()
        await self.crew.note_change()
        try:
            await until_one_ends(self._listen(peer, peer.data, talk), peer.data.run())
            peer.ended = f"it ended its data stream{_if_cut(context)}"
        except Refused as refused:
            peer.ended = f"it was refused: {refused}"
            raise
        except (Gone, asyncio.CancelledError):  # by gRPC or by ourselves; the stream just ends
            pass
        finally:
            peer.data_task = None
            peer.hang_up("the connection was lost")  # without its data stream it starts over

    def _allowed(self, peer: Peer, header: Data) -> int | Skip:
        if isinstance(header, Probe):
            return Skip(header.bytes)
        if isinstance(header, Probed):
            raise Refused("the answer to a measurement that nobody made")
        if self.listener is None:
            raise Refused(f"{header.kind} before training has started")
        return self.listener.allowed(peer.name, header, peer)

    async def _listen(self, peer: Peer, outbox: Outbox, talk: Conversation[Data]) -> None:
        meter = Meter(outbox)
        async for arrival in talk.receive():
            peer.heard = time.monotonic()
            header = arrival.header
            if isinstance(header, Probe):
                meter.take(header, peer.heard)
            elif self.listener is not None and arrival.payload is not None:
                assert not isinstance(header, Probed)  # see _allowed
                await self.listener.on_letter(peer.name, header, arrival.payload)

    # --------------------------------------------------------------------------------------- status

    async def _tell_status(self, context: Any) -> None:
        """One JSON object for every message that comes, whatever it says."""
        async with self._turning_away(context, context.peer(), "caller"):
            with self._door.open_for(self._security.caller(context)):
                while await context.read() is not grpc.aio.EOF:
                    self._security.caller(context)  # still
                    await context.write(json.dumps(self._status()).encode())


def _if_cut(context: Any) -> str:
    """What gRPC does not tell: it ends a call at a message that is too large for it."""
    return "" if context.peer() else f", or sent more than {MOST_MESSAGE:,} bytes in one piece"
