"""How fast tensors of 10 MB travel between two processes, against a plain mutual-TLS socket.

    python benchmarks/net/throughput.py

Both ways are measured in one run, in turns, over loopback and with certificates of one CA. The
plain socket blocks, sends the tensors' own bytes and reads them into one buffer. The other way is
all of ours: the transport of a node (`Post`), its outbox, frames over gRPC, the plan as the access
list, the computing thread at the other end, and a message of the engines in its hands. One way,
many messages follow one another and the last is acknowledged; there and back, each is answered with
a tensor of the same size before the next goes out. Results go to throughput.json beside this file.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import platform
import socket
import ssl
import statistics
import struct
import tempfile
import threading
import time
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal

import grpc
import torch
from torch import Tensor

from tiercut.engines.schedule import Turn
from tiercut.engines.transport import SERVER, Activations, Address, Gradients, Message
from tiercut.net.certs import create_ca, issue
from tiercut.net.due import Due, Flow
from tiercut.net.frames import Skip
from tiercut.net.identity import (
    CA_FILE,
    CERTIFICATE_FILE,
    KEY_FILE,
    LIST_FILE,
    Revoked,
    read_credentials,
)
from tiercut.net.letters import Letter, Tag, read_letter
from tiercut.net.messages import Data, Probe, Probed, read_data
from tiercut.net.post import Post
from tiercut.net.streams import Conversation, MutualTLS, new_server, open_stream
from tiercut.net.tasks import until_one_ends
from tiercut.net.tensors import TensorHeader, payload_of
from tiercut.net.workshop import Outbox, Workshop

HERE = Path(__file__).parent
GOAL = 0.5
"""Of the plain socket's rate."""
SHAPE = (125, 25, 25)
"""Of a sample; 32 of them in float32 are 10 MB."""
BATCH = 32
BUFFER = 4 * 2**20
"""Bytes that the plain socket's system buffers may hold: with the usual ones it is slower."""
NEAR = Address("aggregator", 0)
FAR_NAME, NEAR_NAME = "server", "device"

Way = Literal["one way", "there and back"]
WAYS: tuple[Way, ...] = ("one way", "there and back")
METHODS: dict[Way, str] = {"one way": "OneWay", "there and back": "ThereAndBack"}
TAG: Tag = (0, 0)
_ORDER = struct.Struct("<?I")
"""What the plain socket's far end is told: whether to answer, and how many messages come."""


def make_message(step: int, values: Tensor) -> Activations:
    return Activations(0, step, values, torch.zeros(BATCH, dtype=torch.int64))


# ----------------------------------------------------------------------------- the plain socket


def context_of(folder: Path, side: ssl._SSLMethod) -> ssl.SSLContext:
    context = ssl.SSLContext(side)
    context.load_cert_chain(folder / CERTIFICATE_FILE, folder / KEY_FILE)
    context.load_verify_locations(folder / CA_FILE)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def read_into(stream: ssl.SSLSocket, room: memoryview) -> None:
    while room:
        found = stream.recv_into(room)
        if not found:
            raise EOFError
        room = room[found:]


def serve_plain(listener: socket.socket, context: ssl.SSLContext, size: int) -> None:
    """The far end: read as many messages as are announced, and answer each or the last."""
    raw, _ = listener.accept()
    room = memoryview(bytearray(size))
    with context.wrap_socket(_at_its_best(raw), server_side=True) as stream:
        while order := stream.recv(_ORDER.size):
            answering, count = _ORDER.unpack(order)
            for _ in range(count):
                read_into(stream, room)
                if answering:
                    stream.sendall(room)
            if not answering:
                stream.sendall(b"!")


def _at_its_best(raw: socket.socket) -> socket.socket:
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for side in (socket.SO_SNDBUF, socket.SO_RCVBUF):
        raw.setsockopt(socket.SOL_SOCKET, side, BUFFER)
    return raw


class PlainSocket:
    """The near end."""

    def __init__(self, folder: Path, port: int, values: Tensor) -> None:
        context = context_of(folder, ssl.PROTOCOL_TLS_CLIENT)
        raw = _at_its_best(socket.create_connection(("127.0.0.1", port)))
        self._stream = context.wrap_socket(raw, server_hostname=FAR_NAME)
        message = make_message(0, values)
        self._pieces = payload_of([message.values, message.labels])
        self._room = memoryview(bytearray(sum(map(len, self._pieces))))

    async def send(self, way: Way, count: int) -> float:
        """Seconds until all of it was answered."""
        answered = way == "there and back"
        began = time.perf_counter()
        self._stream.sendall(_ORDER.pack(answered, count))
        for _ in range(count):
            for piece in self._pieces:
                self._stream.sendall(piece)
            if answered:
                read_into(self._stream, self._room)
        if not answered:
            self._stream.recv(1)
        return time.perf_counter() - began


# --------------------------------------------------------------------------------------- our own


class End:
    """One end of a stream: what comes is checked, and handed to `self.receive` on a thread."""

    def __init__(self, own: Address, other: Address) -> None:
        torch.set_num_threads(1)  # as of `tiercut join --threads 1`: two nodes share this machine
        self.own, self.other = own, other
        self.workshop = Workshop(self._fail)
        self.post = Post(own.device, "fp32", self.workshop)
        self.post.attach(own, self.receive)

    def _fail(self, problem: BaseException) -> None:
        print(f"failed: {problem!r}", flush=True)
        os._exit(1)

    def receive(self, message: Message) -> None:
        """Act on what came."""
        raise NotImplementedError

    def begin(self, stream: Any, due: Due) -> tuple[Outbox, Conversation[Data]]:
        """Say who is at the other end, and what may come from there."""
        talk = Conversation(stream, "", read_data, partial(self._allowed, due, stream))
        outbox = Outbox(talk)
        self.post.begin(TAG, lambda _: outbox, {self.other.device: due})
        return outbox, talk

    def _allowed(self, due: Due, stream: object, header: Data) -> int | Skip:
        assert not isinstance(header, Probe | Probed)
        return due.allowed(header, stream)

    async def listen(self, talk: Conversation[Data]) -> None:
        """Take in all that comes."""
        async for arrival in talk.receive():
            assert arrival.payload is not None
            assert not isinstance(arrival.header, Probe | Probed)
            work = partial(self._deliver, arrival.header, arrival.payload)
            await self.workshop.take_in(work, len(arrival.payload))

    def _deliver(self, header: Letter, payload: memoryview) -> None:
        self.post.delivery(TAG, self.own, read_letter(header, payload, "fp32"))()


class FarEnd(End):
    """Answers every message with a gradient, or the last with a small one."""

    def __init__(self, messages: int) -> None:
        super().__init__(SERVER, NEAR)
        self._messages = messages

    async def serve(self, way: Way, context: Any) -> None:
        """Take part in one measurement."""
        self._answers, self._left = way == "there and back", self._messages
        turn = Turn("", 1, (BATCH,) * self._messages, 0, 1)
        due = Due(flows={0: Flow(turn, SHAPE, "fp32")})
        outbox, talk = self.begin(context, due)
        await until_one_ends(outbox.run(), self.listen(talk))

    def receive(self, message: Message) -> None:
        """See End."""
        assert isinstance(message, Activations)
        self._left -= 1
        if self._answers:
            self.post.send(self.own, self.other, Gradients(0, message.values))
        elif not self._left:
            self.post.send(self.own, self.other, Gradients(0, torch.zeros(1)))


class NearEnd(End):
    """Sends and waits."""

    def __init__(self, security: MutualTLS, port: int, values: Tensor) -> None:
        super().__init__(NEAR, SERVER)
        self._channel = security.channel(f"127.0.0.1:{port}", FAR_NAME)
        self._values = values

    async def send(self, way: Way, count: int) -> float:
        """Seconds until all of it was answered."""
        stream = open_stream(self._channel, METHODS[way], NEAR_NAME)
        due = Due(answers=way == "there and back")
        outbox, talk = self.begin(stream, due)
        self._over = asyncio.Event()
        self._steps = iter(range(count))
        began = time.perf_counter()
        if way == "there and back":
            self.workshop.add(self._next)
        else:
            self.workshop.add(partial(self._all, due))
        await until_one_ends(outbox.run(), self.listen(talk), self._wait())
        stream.cancel()
        return self._ended - began

    async def _wait(self) -> None:
        await self._over.wait()

    def _next(self) -> None:
        step = next(self._steps, None)
        if step is None:
            self._end()
        else:
            self.post.send(self.own, self.other, make_message(step, self._values))

    def _all(self, due: Due) -> None:
        for step in self._steps:
            self.post.send(self.own, self.other, make_message(step, self._values))
        due.gradients[0] = (TensorHeader(dtype="float32", shape=(1,)),)

    def receive(self, message: Message) -> None:
        """See End."""
        self._next()

    def _end(self) -> None:
        self._ended = time.perf_counter()
        self.workshop.loop.call_soon_threadsafe(self._over.set)


# ------------------------------------------------------------------------------- the two processes


def security_of(folder: Path) -> MutualTLS:
    own = read_credentials(folder)
    return MutualTLS(own, Revoked(folder / LIST_FILE, own.ca, print))


def be_far_end(folder: Path, size: int, messages: int, ports: Connection) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    context = context_of(folder, ssl.PROTOCOL_TLS_SERVER)
    plain = threading.Thread(target=serve_plain, args=(listener, context, size), daemon=True)
    plain.start()

    async def serve() -> None:
        far = FarEnd(messages)
        server = new_server({METHODS[way]: partial(far.serve, way) for way in WAYS})
        port = security_of(folder).listen(server, "127.0.0.1:0")
        await server.start()
        ports.send((listener.getsockname()[1], port))
        await server.wait_for_termination()

    asyncio.run(serve())


@dataclass(frozen=True)
class Taken:
    """What some messages took."""

    seconds: float
    cpu: float
    """Seconds of both processes' cores: what other programs on the machine change little."""


def cpu_of(process: int) -> float:
    """Seconds that a process has computed, in all of its threads."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


async def compare(
    folder: Path, ports: tuple[int, int], far: int, options: argparse.Namespace
) -> dict[Way, dict[str, list[Taken]]]:
    values = torch.randn(BATCH, *SHAPE)
    ours = NearEnd(security_of(folder), ports[1], values)
    ends: dict[str, PlainSocket | NearEnd] = {
        "plain": PlainSocket(folder, ports[0], values),
        "tiercut": ours,
    }
    taken: dict[Way, dict[str, list[Taken]]] = {way: {name: [] for name in ends} for way in WAYS}
    for repeat in range(1 + options.repeats):
        for way in WAYS:
            for name, end in ends.items():
                before = time.process_time() + cpu_of(far)
                seconds = await end.send(way, options.messages)
                cpu = time.process_time() + cpu_of(far) - before
                if repeat:  # the first warms up
                    taken[way][name].append(Taken(seconds, cpu))
    ours.workshop.close()
    return taken


def measure(options: argparse.Namespace) -> dict[str, Any]:
    size = sum(map(len, payload_of([torch.zeros(BATCH, *SHAPE), torch.zeros(BATCH).long()])))
    with tempfile.TemporaryDirectory() as scratch:
        create_ca(Path(scratch) / "ca")
        far, near = issue(Path(scratch) / "ca", [FAR_NAME, NEAR_NAME])
        spawn = multiprocessing.get_context("spawn")
        here, there = spawn.Pipe()
        process = spawn.Process(
            target=be_far_end, args=(far, size, options.messages, there), daemon=True
        )
        process.start()
        assert process.pid is not None
        try:
            taken = asyncio.run(compare(near, here.recv(), process.pid, options))
        finally:
            process.kill()
    return {way: sum_up(way, size, options.messages, found) for way, found in taken.items()}


def sum_up(way: Way, size: int, messages: int, taken: dict[str, list[Taken]]) -> dict[str, Any]:
    count = messages * (2 if way == "there and back" else 1)
    rates = {
        name: [count * size / 1e6 / one.seconds for one in found] for name, found in taken.items()
    }
    shares = [ours / plain for ours, plain in zip(rates["tiercut"], rates["plain"], strict=True)]
    cpu = {name: spread([one.cpu / count * 1e3 for one in found]) for name, found in taken.items()}
    return {
        "MB_per_second": {name: spread(found) for name, found in rates.items()},
        "share": spread(shares),
        "cpu_ms_per_message": cpu,
    }


def spread(found: list[float]) -> dict[str, float]:
    return {"median": statistics.median(found), "least": min(found), "most": max(found)}


def show(found: dict[str, float], form: str) -> str:
    return f"{found['median']:{form}} ({found['least']:{form}} to {found['most']:{form}})"


def table(results: dict[str, Any]) -> str:
    """The results as a page."""
    rows = [
        f"# Tensors over loopback, against a plain mutual-TLS socket\n\n`{results['command']}`,"
        f" {results['device']}, grpcio {results['grpcio']}, Python {results['python']}; load"
        f" average {results['load_before']:.1f} before it. {results['repeats']} repeats in turns,"
        f" each of {results['messages']} messages of 10 MB. All figures are medians (least to"
        f" most); a share is of two neighbouring repeats; CPU is that of both processes.\n\n"
        f"| way | plain, MB/s | tiercut, MB/s | share (goal: {GOAL}) |"
        f" plain, CPU ms a message | tiercut, CPU ms a message |\n|---|---|---|---|---|---|"
    ]
    for way, found in results["ways"].items():
        rates, cpu = found["MB_per_second"], found["cpu_ms_per_message"]
        cells = [
            way,
            *(show(rates[name], ".0f") for name in ("plain", "tiercut")),
            show(found["share"], ".2f"),
            *(show(cpu[name], ".1f") for name in ("plain", "tiercut")),
        ]
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--messages", type=int, default=40)
    parser.add_argument("-o", "--output", type=Path, default=HERE / "throughput.json")
    options = parser.parse_args()
    results = {
        "command": "python benchmarks/net/throughput.py",
        "device": f"{os.cpu_count()} cores, CPU",
        "grpcio": grpc.__version__,
        "python": platform.python_version(),
        "repeats": options.repeats,
        "messages": options.messages,
        "load_before": os.getloadavg()[0],
        "ways": measure(options),
    }
    options.output.write_text(json.dumps(results, indent=2) + "\n")
    options.output.with_suffix(".md").write_text(table(results))
    print(table(results))


if __name__ == "__main__":
    main()
