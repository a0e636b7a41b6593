"""gRPC streams of raw frames, and who is at their other end.

gRPC carries bytes and nothing else here: frames are ours (tiercut.net.frames), so that no generated
code and no pickle is involved. With mutual TLS a peer's name is that of its certificate; without,
peers are believed, which is for one machine alone.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from tiercut.documents import Document
from tiercut.errors import InputError, MissingError
from tiercut.net.frames import (
    MOST_HEADER,
    MOST_PAYLOAD,
    Assembler,
    Later,
    Piece,
    Refused,
    Skip,
    encode,
)

try:
    import grpc
    import grpc.aio
except ModuleNotFoundError:  # pragma: no cover - the tests have it
    raise MissingError(
        "the network runtime needs gRPC; install it with `pip install 'tiercut[net]'`"
    ) from None

from tiercut.net.identity import Credentials, Revoked, check_name

SERVICE = "tiercut.Node"
NAME_KEY = "tiercut-node"
"""Where callers say their name when there are no certificates."""

MOST_MESSAGE = 4 * (MOST_HEADER + MOST_PAYLOAD)
"""Frames above our own limit and below this one are refused by us, with a reason in the log."""
_OPTIONS = (
    ("grpc.max_receive_message_length", MOST_MESSAGE),
    ("grpc.max_send_message_length", MOST_MESSAGE),
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
    # Who connects and says nothing is not waited for, and one connection carries few streams.
    ("grpc.server_handshake_timeout_ms", 10_000),
    ("grpc.max_connection_idle_ms", 60_000),
    ("grpc.max_concurrent_streams", 16),
    # Devices in one process would share a connection to the server else.
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.so_reuseport", 0),  # two servers on one port is a mistake, not a wish
    ("grpc.enable_retries", 0),
    # Peers may be addressed through no proxy, whatever the environment says.
    ("grpc.enable_http_proxy", 0),
)

H = TypeVar("H")


# ------------------------------------------------------------------------------------ who is there


class Security(Protocol):
    """How nodes know one another."""

    @property
    def name(self) -> str:
        """That of this node."""

    def listen(self, server: grpc.aio.Server, address: str) -> int:
        """Let a server listen at host:port; returns the port."""

    def channel(self, address: str, peer: str) -> grpc.aio.Channel:
        """A channel to the node called `peer`, and to nobody else."""

    def caller(self, context: Any) -> str:
        """The name of who calls; Refused where it must not."""


@dataclass(frozen=True)
class MutualTLS:
    """Both ends show certificates of one CA."""

    credentials: Credentials
    revoked: Revoked

    @property
    def name(self) -> str:
        """See Security."""
        return self.credentials.name

    def listen(self, server: grpc.aio.Server, address: str) -> int:
        """See Security."""
        own = self.credentials
        pair = [(own.key, own.certificate)]
        return _bind(
            lambda: server.add_secure_port(
                address, grpc.ssl_server_credentials(pair, own.ca, require_client_auth=True)
            ),
            address,
        )

    def channel(self, address: str, peer: str) -> grpc.aio.Channel:
        """See Security."""
        own = self.credentials
        secrets = grpc.ssl_channel_credentials(own.ca, own.key, own.certificate)
        named = (*_OPTIONS, ("grpc.ssl_target_name_override", peer))
        return grpc.aio.secure_channel(address, secrets, options=named)

    def caller(self, context: Any) -> str:
        """See Security."""
        about = context.auth_context()
        names, pem = about.get("x509_common_name"), about.get("x509_pem_cert")
        if not names or not pem:
            raise Refused("a caller without a certificate")
        name = _checked(str(names[0], errors="replace"))
        reason = self.revoked.refuses(pem[0])
        if reason is not None:
            raise Refused(f"the certificate of {name} is {reason}")
        return name


@dataclass(frozen=True)
class Insecure:
    """Everybody is believed, so nobody but this machine may be listened to."""

    name: str

    def listen(self, server: grpc.aio.Server, address: str) -> int:
        """See Security."""
        self._check(address)
        return _bind(lambda: server.add_insecure_port(address), address)

    def channel(self, address: str, peer: str) -> grpc.aio.Channel:
        """See Security."""
        self._check(address)
        return grpc.aio.insecure_channel(address, options=_OPTIONS)

    def _check(self, address: str) -> None:
        if address.rpartition(":")[0] not in ("127.0.0.1", "localhost", "[::1]"):
            raise InputError(
                f"--insecure is for one machine alone, and {address} is not 127.0.0.1; make"
                f" certificates with `tiercut certs` and give --certs instead"
            )

    def caller(self, context: Any) -> str:
        """See Security."""
        told = dict(context.invocation_metadata() or ())
        name = told.get(NAME_KEY)
        if not isinstance(name, str):
            raise Refused("a caller without a name")
        return _checked(name)


def _checked(name: str) -> str:
    try:
        check_name(name)
    except InputError:
        raise Refused("a caller whose name is none of a node") from None
    return name


def _bind(add: Callable[[], int], address: str) -> int:
    try:
        port = add()
    except RuntimeError:
        port = 0
    if port == 0:
        raise InputError(
            f"cannot listen on {address}: the address is in use or not one of this machine; give"
            f" another with --listen"
        )
    return port


def new_server(handlers: dict[str, Callable[[Any], Any]]) -> grpc.aio.Server:
    """A server of two-way streams, by method name; a handler gets the call's context."""

    def as_grpc(handle: Callable[[Any], Any]) -> Any:
        async def call(_: Any, context: Any) -> None:
            # A stream that is ended is no accident; gRPC would print where it was.
            with suppress(asyncio.CancelledError):
                # Else gRPC begins with the first message; and if the stream ends while that one is
                # under way, it begins again, which fails, and the peer never hears of the end.
                await context.send_initial_metadata(())
                await _in_own_task(handle(context))

        return grpc.stream_stream_rpc_method_handler(call)

    methods = {name: as_grpc(handle) for name, handle in handlers.items()}
    server = grpc.aio.server(options=_OPTIONS)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, methods),))
    return server


async def _in_own_task(work: Coroutine[Any, Any, None]) -> None:
    """Run something to its end; who is cancelled meanwhile, once or twice, passes it on and waits.

    A stream that we end ourselves has a task of its own, for gRPC's may be at its own end then.
    """
    task = asyncio.ensure_future(work)
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            task.cancel()
    task.result()


def open_stream(channel: grpc.aio.Channel, method: str, name: str) -> Any:
    """A new two-way stream to a method; `name` is who calls."""
    call = channel.stream_stream(f"/{SERVICE}/{method}")
    return call(metadata=((NAME_KEY, name),))


def ask_once(channel: grpc.aio.Channel, method: str, name: str) -> Any:
    """A call that says nothing to a method and waits for one answer; `name` is who calls."""
    call = channel.unary_unary(f"/{SERVICE}/{method}")
    return call(b"", metadata=((NAME_KEY, name),))


# ------------------------------------------------------------------------------------ conversations


@dataclass(frozen=True, eq=False)
class Arrival(Generic[H]):
    """A message that came: its header and payload, None where nobody wanted it."""

    header: H
    payload: memoryview | None


_OVER = (asyncio.InvalidStateError, grpc.aio.UsageError, grpc.aio.InternalError)
"""What gRPC raises where somebody writes to a stream that is over."""


class Gone(Exception):
    """The other end of a stream has ended it."""


class Conversation(Generic[H]):
    """Messages over one stream, both ways; `parse` and `allowed` are those of an Assembler."""

    def __init__(
        self,
        stream: Any,
        peer: str,
        parse: Callable[[bytes], H],
        allowed: Callable[[H], int | Skip],
    ) -> None:
        self.peer = peer
        self.heard = time.monotonic()
        """When the peer last said anything."""
        self.sent = self.received = 0
        """Bytes of frames, until now."""
        self._stream, self._assembler = stream, Assembler(parse, allowed)

    async def send(self, header: Document, payload: Sequence[Piece] = ()) -> None:
        """Send one message; only one task at a time may."""
        for frame in encode(header, payload):
            try:
                await self._stream.write(frame)
            except _OVER:
                raise Gone(f"{self.peer} ended the conversation") from None
            self.sent += len(frame)

    async def receive(self) -> AsyncIterator[Arrival[H]]:
        """Messages as they come, until the peer has no more to say."""
        while True:
            frame = await self._stream.read()
            if frame is grpc.aio.EOF:
                return
            self.heard = time.monotonic()
            self.received += len(frame)
            whole = await self._feed(frame)
            if whole is not None:
                yield Arrival(*whole)

    async def _feed(self, frame: bytes) -> tuple[H, memoryview | None] | None:
        """What a frame completes; the stream stands still while it is early."""
        while True:
            try:
                return self._assembler.feed(frame)
            except Later as early:
                await early.time.wait()


def no_payload(_: object) -> int:
    """What is due on a control stream beside headers."""
    return 0


def reason_of(problem: BaseException) -> str:
    """Why a stream ended, in words for a log."""
    if isinstance(problem, grpc.aio.AioRpcError):
        return str(problem.details() or problem.code().name)
    if isinstance(problem, TimeoutError):
        return "there is no answer"
    return str(problem) or type(problem).__name__
