"""Those who should not be let in, and those who say what they must not.

A `Line` is a stream on which anything at all can be said, in raw frames: by an `Intruder` from
outside, by a `Rogue` who belongs, or by an `Impostor` in the server's place. `Papers` is a CA and
what it issues.
"""

import asyncio
import io
import json
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import ClassVar

import grpc

from tests.net.malformed import taken_apart
from tiercut.net.certs import create_ca, issue, revoke
from tiercut.net.device import Device
from tiercut.net.frames import encode
from tiercut.net.identity import CA_FILE, LIST_FILE, Credentials, Revoked, read_credentials
from tiercut.net.letters import named_tensors
from tiercut.net.logs import Log
from tiercut.net.messages import PROTOCOL, ActivationsHeader, Bye, Go, Hello, WeightsHeader
from tiercut.net.shift import SERVER
from tiercut.net.streams import MutualTLS, new_server, open_stream
from tiercut.net.tensors import TensorHeader, size

WAIT = 20.0
"""Seconds after which an intruder takes silence for an answer that never comes."""


class Papers:
    """A CA, and the security of the nodes that it knows."""

    def __init__(self, folder, *names):
        self.folder, self.warnings = folder, io.StringIO()
        create_ca(folder, now=datetime.now(UTC) - timedelta(days=3))
        issue(folder, ["server", *names])

    def __call__(self, name):
        """How a node shows itself, and whom it lets in."""
        own = self.folder / "nodes" / name
        return self.show(read_credentials(own), own)

    def show(self, credentials, own):
        revoked = Revoked(own / LIST_FILE, credentials.ca, Log(self.warnings).warn)
        return MutualTLS(credentials, revoked)

    def issue(self, name, **terms):
        """One more node."""
        issue(self.folder, [name], **terms)
        return self(name)

    def expired(self, name):
        """A node whose certificate is of the CA and holds no longer."""
        issue(self.folder, [name], days=1, now=datetime.now(UTC) - timedelta(days=2))
        own = self.folder / "nodes" / name
        files = (own / file for file in (CA_FILE, "node.pem", "node.key"))
        return self.show(Credentials(name, *(file.read_bytes() for file in files)), own)

    def forged(self, security):
        """A node of another CA that trusts this one."""
        ca = (self.folder / CA_FILE).read_bytes()
        return replace(security, credentials=replace(security.credentials, ca=ca))

    def revoke(self, name):
        """Take back what was issued to a node."""
        revoke(self.folder, name)


class Line:
    """One stream to a node, for raw frames."""

    def __init__(self, stream):
        self._stream = stream

    async def say(self, header, *payload):
        """Send a message as it should be."""
        await self.put(*encode(header, payload))

    async def put(self, *frames):
        """Send any bytes."""
        for frame in frames:
            await self._stream.write(frame)

    async def finish(self):
        """Say no more."""
        await self._stream.done_writing()

    async def hear(self):
        """The next header, as JSON; None when there is no more."""
        frame = await self._read()
        return None if frame is grpc.aio.EOF else json.loads(taken_apart(frame)[0])

    async def ending(self):
        """How the other end ends the stream, once everything that it said has been read."""
        with suppress(grpc.aio.AioRpcError):
            while await self._read() is not grpc.aio.EOF:
                pass
        code = await asyncio.wait_for(self._stream.code(), WAIT)
        return code, await self._stream.details()

    async def _read(self):
        return await asyncio.wait_for(self._stream.read(), WAIT)


class Intruder:
    """Speaks raw frames to one node."""

    def __init__(self, channel, name):
        self._channel, self._name = channel, name

    def line(self, method):
        """A new stream."""
        return Line(open_stream(self._channel, method, self._name))

    async def join(self, address="127.0.0.1:1"):
        """Both streams to a server, as a device that has said hello."""
        control, data = self.line("Control"), self.line("Data")
        await control.say(Hello(protocol=PROTOCOL, version="0", address=address))
        assert (await control.hear())["kind"] == "welcome"
        return control, data


@asynccontextmanager
async def intruding(address, security, peer="server", *, ahead=None):
    """Call a node at an address, without any limits of one's own.

    `ahead` is how many bytes a stream takes before anybody reads them.
    """
    own, options = security.credentials, [("grpc.max_send_message_length", -1)]
    if ahead is not None:
        options += [("grpc.http2.bdp_probe", 0), ("grpc.http2.lookahead_bytes", ahead)]
    secrets = grpc.ssl_channel_credentials(own.ca, own.key, own.certificate)
    options.append(("grpc.ssl_target_name_override", peer))
    channel = grpc.aio.secure_channel(address, secrets, options=options)
    try:
        yield Intruder(channel, security.name)
    finally:
        await channel.close()


class Impostor:
    """Has the server's certificate, and means no good.

    In each session of a device it acts once: `acts` are used up in turn, and then it says goodbye.
    """

    def __init__(self, security, acts):
        self._security, self._acts = security, list(acts)
        self._data: dict[str, asyncio.Future] = {}

    @asynccontextmanager
    async def open(self):
        """Listen; the address is given."""
        server = new_server({"Control": self._on_control, "Data": self._on_data})
        port = self._security.listen(server, "127.0.0.1:0")
        await server.start()
        try:
            yield f"127.0.0.1:{port}"
        finally:
            await server.stop(0)

    async def _on_control(self, context):
        control, data = Line(context), self._data_at(context.peer())
        assert (await control.hear())["kind"] == "hello"
        if self._acts:
            await self._acts.pop(0)(control, await data)
        else:
            await control.say(Bye(reason="enough"))
        while await control.hear() is not None:  # until the device has had enough
            pass

    async def _on_data(self, context):
        self._data_at(context.peer()).set_result(Line(context))
        await asyncio.Event().wait()

    def _data_at(self, peer):
        return self._data.setdefault(peer, asyncio.get_running_loop().create_future())


class Rogue(Device):
    """A device that commits a crime in each round, in its turn, instead of its part in it.

    A crime is given the device when all are ready to start. `crimes` is used up.
    """

    crimes: ClassVar[list] = []

    async def _act_in_shift(self, message, shift):
        if isinstance(message, Go) and self.crimes:
            await self.crimes.pop(0)(self)
        else:
            await super()._act_in_shift(message, shift)

    @property
    def tag(self):
        """The attempt under way, as headers name it."""
        number, attempt = self._shift.tag
        return {"round": number, "attempt": attempt}

    @property
    def number(self):
        return self._shift.client

    @property
    def to_server(self):
        """The stream of data to the server."""
        return Line(self._outboxes[SERVER].conversation._stream)

    @property
    def to_aggregator(self):
        """That to who serves this device."""
        return Line(self._outboxes[self._shift.aggregator].conversation._stream)

    @property
    def words(self):
        """The stream of words to the server."""
        return Line(self._control.conversation._stream)

    def start(self):
        """Do the own part after all."""
        self._workshop.add(self._bench.client.start)

    def batch(self, *, client=None, later=0, dtype="float32", samples=None, step=None, **tag):
        """The header of a batch as it is due, but for what is said otherwise; and its payload."""
        turn = self._shift.schedule.turns[self.number]
        shape = self._bench.task.shapes[len(self._shift.own[self.number].layers) - 1]
        samples = turn.sizes[later] if samples is None else samples
        values = TensorHeader(dtype=dtype, shape=(samples, *shape))
        labels = TensorHeader(dtype="int64", shape=(samples,))
        header = ActivationsHeader(
            **{**self.tag, **tag},
            client=self.number if client is None else client,
            step=turn.first_step + later if step is None else step,
            tensors=(values, labels),
        )
        return header, [bytes(size(values)), bytes(size(labels))]

    def layers(self, *, part="client", clients=None, tensors=None, **tag):
        """The header of the own layers, but for what is said otherwise; and their bytes."""
        own = self._shift.own[self.number].layers
        layers = {name: self._bench.common.layers[name] for name in own}
        header = WeightsHeader(
            **{**self.tag, **tag},
            part=part,
            clients=(self.number,) if clients is None else clients,
            tensors=named_tensors(layers) if tensors is None else tensors,
        )
        return header, [bytes(size(tensor)) for tensor in header.tensors]
