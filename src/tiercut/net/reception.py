"""Where devices come in at the server: who is let in, who has fallen silent, and what they say."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

import grpc

from tiercut.net.crew import Crew, Peer
from tiercut.net.frames import Refused, Skip
from tiercut.net.identity import OPERATOR, SERVER
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
from tiercut.net.streams import Conversation, Security, new_server, no_payload, reason_of
from tiercut.net.tasks import until_one_ends
from tiercut.net.workshop import Outbox

SILENCE = 10.0
"""Seconds without a sign of life after which a device counts as gone."""
GREETING = 10.0
"""Seconds that a device has to say who it is."""


FAREWELL = 5.0
"""Seconds that devices have to leave when training is over."""


class Listener(Protocol):
    """Who is told what the devices of a round say."""

    def on_word(self, name: str, message: Ready | Cut | Finished) -> None:
        """A device said something about a round."""

    def allowed(self, name: str, header: Letter) -> int | Skip:
        """How much may follow a header."""

    async def on_letter(self, name: str, header: Letter, payload: memoryview) -> None:
        """Tensors have come; returns when the next may."""

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
        self.listener: Listener | None = None
        """Once training has started."""
        self.crew = Crew()
        self.roster: dict[str, int] | None = None
        """Once training has started: the names that take part, and their examples."""
        self.refusals: Counter[str] = Counter()
        """How often something was refused, by what kind of thing."""

    async def start(self, listen: str) -> str:
        """Listen at host:port; returns the address."""
        self._server = new_server(
            {"Control": self._control, "Data": self._data, "Status": self._tell_status}
        )
        port = self._security.listen(self._server, listen)
        await self._server.start()
        self._watch = asyncio.get_running_loop().create_task(self._watch_silence())
        return f"{listen.rpartition(':')[0]}:{port}"

    async def stop(self, farewell: str | None) -> None:
        """End all streams; without a farewell the devices wait for the server to come back."""
        if farewell is not None:
            for peer in tuple(self.crew.peers.values()):
                peer.control.put(Bye(reason=farewell))
            await self.crew.wait_until_empty(FAREWELL)
        self._watch.cancel()
        await self._server.stop(0)

    def _refuse(self, peer: str, reason: str) -> None:
        self.refusals[reason.split(":", maxsplit=1)[0][:40]] += 1
        self._log.warn("refused", peer=peer, reason=reason)

    async def _watch_silence(self) -> None:
        """A link that was cut says nothing; neither does a device that hangs."""
        while True:
            await asyncio.sleep(SILENCE / 4)
            now = time.monotonic()
            for peer in tuple(self.crew.peers.values()):
                if now - peer.heard > SILENCE:
                    self._log.warn("silent", node=peer.name, seconds=round(now - peer.heard, 1))
                    peer.task.cancel()

    # ------------------------------------------------------------------------------ control streams

    async def _control(self, context: Any) -> None:
        try:
            name = self._admit(context)
            await self._greet(name, context)
        except Refused as refused:
            self._refuse(context.peer(), str(refused))
            await context.abort(grpc.StatusCode.PERMISSION_DENIED, str(refused))

    def _admit(self, context: Any) -> str:
        name = self._security.caller(context)
        if name in (SERVER, OPERATOR):
            raise Refused(f"{name} is not the name of a device")
        return name

    async def _greet(self, name: str, context: Any) -> None:
        talk = Conversation(context, name, read_from_node, no_payload)
        words = talk.receive()
        try:
            first = await asyncio.wait_for(anext(words), GREETING)
        except (TimeoutError, StopAsyncIteration):
            raise Refused(f"{name} did not say hello") from None
        unwanted = self._unwanted(name, first.header)
        if unwanted is not None:
            self._refuse(name, unwanted)
            await talk.send(Bye(reason=unwanted, refused=True))
            return
        assert isinstance(first.header, Hello)
        task = asyncio.current_task()
        assert task is not None
        peer = Peer(name, first.header, Outbox(talk), task)
        await self.crew.add(peer)
        self._log("connected", node=name, address=first.header.address)
        reason = "it ended the conversation"
        try:
            peer.control.put(Welcome(job=self._job))
            await until_one_ends(peer.control.run(), self._converse(peer, words))
        except Refused as refused:
            reason = f"it was refused: {refused}"
            self._refuse(name, str(refused))
        except grpc.aio.AioRpcError as problem:
            reason = reason_of(problem)
        except asyncio.CancelledError:
            reason = "the connection was lost"
            raise
        finally:
            if await asyncio.shield(self.crew.remove(peer)):
                self._log.warn("left", node=name, reason=reason)
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

    async def _converse(self, peer: Peer, words: Any) -> None:
        async for arrival in words:
            peer.heard = time.monotonic()
            await self._act_on(peer, arrival.header)

    async def _act_on(self, peer: Peer, message: FromNode) -> None:
        if isinstance(message, Stock):
            self._check_stock(peer, message)
            peer.examples = message.examples
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
        had = None if self.roster is None else self.roster[peer.name]
        if had is not None and had != message.examples:
            raise Refused(
                f"{peer.name} had {had} examples when training started and has {message.examples}"
            )

    # --------------------------------------------------------------------------------- data streams

    async def _data(self, context: Any) -> None:
        try:
            name = self._admit(context)
            peer = await self.crew.wait_for(name, GREETING)
            if peer is None:
                raise Refused(f"{name} sends data and did not say hello")
            await self._exchange(peer, context)
        except Refused as refused:
            self._refuse(context.peer(), str(refused))
            await context.abort(grpc.StatusCode.PERMISSION_DENIED, str(refused))

    async def _exchange(self, peer: Peer, context: Any) -> None:
        talk = Conversation(context, peer.name, read_data, partial(self._allowed, peer.name))
        peer.data = Outbox(talk)
        await self.crew.note_change()
        try:
            await until_one_ends(peer.data.run(), self._listen(peer, talk))
        finally:
            peer.task.cancel()  # a device without its data stream starts over

    def _allowed(self, name: str, header: Data) -> int | Skip:
        if isinstance(header, Probe):
            return header.bytes
        if isinstance(header, Probed):
            raise Refused("the answer to a measurement that nobody made")
        if self.listener is None:
            raise Refused(f"{header.kind} before training has started")
        return self.listener.allowed(name, header)

    async def _listen(self, peer: Peer, talk: Conversation[Data]) -> None:
        meter = Meter()
        async for arrival in talk.receive():
            peer.heard = time.monotonic()
            header = arrival.header
            if isinstance(header, Probe):
                answer = meter.take(header, peer.heard)
                if answer is not None and peer.data is not None:
                    peer.data.put(answer)
            elif self.listener is not None and arrival.payload is not None:
                assert not isinstance(header, Probed)  # see _allowed
                await self.listener.on_letter(peer.name, header, arrival.payload)

    # --------------------------------------------------------------------------------------- status

    async def _tell_status(self, context: Any) -> None:
        """One JSON object for every message that comes, whatever it says."""
        try:
            self._security.caller(context)
        except Refused as refused:
            self._refuse(context.peer(), str(refused))
            await context.abort(grpc.StatusCode.PERMISSION_DENIED, str(refused))
        while await context.read() is not grpc.aio.EOF:
            await context.write(json.dumps(self._status()).encode())
