"""Everything that nodes say to one another, as checked values.

There are two kinds of streams. On a node's control stream to the server, small messages say who is
there and what is to be done. On data streams (node to server, client to aggregator) tensors travel.
Every message about a round names the round and the attempt at it, so that what was meant for an
attempt that was given up is known for what it is. Rounds count from 0, clients by their place in
the roster.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from tiercut.documents import Document
from tiercut.net.frames import reader
from tiercut.net.tensors import MOST_DIMENSIONS, TensorHeader
from tiercut.scenario import MOST_EXAMPLES, Interval, Wire

PROTOCOL = 3
"""Nodes of another protocol are refused."""
MOST_CLASSES = 2**16
"""A device builds the last layer that a server asks for, and must have room for it."""

Count = Annotated[int, Field(ge=0, lt=2**62)]
Some = Annotated[int, Field(ge=1, le=MOST_EXAMPLES)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,63}$")]
# No controls, and nothing that turns the direction of what is shown after it.
Words = Annotated[
    str,
    Field(
        max_length=1000,
        pattern=r"^[^\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]*$",
    ),
]
# Neither a path nor a scheme, which gRPC would take for other kinds of addresses.
HostPort = Annotated[
    str,
    Field(
        max_length=300,
        pattern=r"^(\[[0-9A-Fa-f:.]+(%[A-Za-z0-9._-]+)?\]|[A-Za-z0-9._-]+):[0-9]{1,5}$",
    ),
]
Amount = Annotated[float, Field(ge=0)]
Share = Annotated[float, Field(gt=0, le=1)]
# What no machine exceeds; a plan made with these is still made of finite numbers.
Throughput = Annotated[float, Field(ge=1, le=1e18)]
Rate = Annotated[float, Field(ge=1, le=1e15)]
Shape = Annotated[
    tuple[Annotated[int, Field(ge=1, lt=2**31)], ...], Field(max_length=MOST_DIMENSIONS)
]
Channels = Annotated[tuple[float, ...], Field(min_length=1, max_length=1000)]
Deviations = Annotated[
    tuple[Annotated[float, Field(gt=0)], ...], Field(min_length=1, max_length=1000)
]
Traffic = Annotated[
    str, Field(pattern=r"^[a-z]{1,20} (client|aggregator|server) (client|aggregator|server)$")
]


class Job(Document):
    """What is trained and how: what a node needs beside its own data to build its parts."""

    model: Words
    input_shape: Shape | None
    classes: int = Field(ge=2, le=MOST_CLASSES)
    scheme: Words
    aggregator_interval: Interval | None
    server_interval: Interval | None
    optimiser: Literal["sgd", "adam"]
    rate: float = Field(gt=0)
    momentum: Amount
    weight_decay: Amount
    batch: Some
    epochs: Some
    portions: Some
    seed: Count
    head: Literal["flat", "pooled"] | None
    wire: Wire
    server_share: Share
    augment: bool
    mean: Channels
    std: Deviations


# ------------------------------------------------------------------------- control, from the nodes


class Hello(Document):
    """A node wants to take part."""

    kind: Literal["hello"] = "hello"
    protocol: Count
    version: Words
    """Of tiercut, for people."""
    address: HostPort
    """Where other nodes reach it."""


class Stock(Document):
    """How much data a node has for the job."""

    kind: Literal["stock"] = "stock"
    examples: Some


class Capacity(Document):
    """How fast a node computes."""

    kind: Literal["capacity"] = "capacity"
    throughput: Throughput


class LinkRate(Document):
    """How fast a node reaches another, in bytes per second; None where it does not."""

    kind: Literal["link-rate"] = "link-rate"
    peer: Name
    rate: Rate | None


class Heartbeat(Document):
    """A node is alive."""

    kind: Literal["heartbeat"] = "heartbeat"


class Tagged(Document):
    """Something about one attempt at a round."""

    round: Count
    attempt: Count

    @property
    def tag(self) -> tuple[int, int]:
        """Which attempt at which round."""
        return self.round, self.attempt


class Ready(Tagged):
    """A node has its weights and reaches whom it must reach."""

    kind: Literal["ready"] = "ready"


class Cut(Tagged):
    """A node does not reach another, or was sent what it must not be sent."""

    kind: Literal["cut"] = "cut"
    peer: Name
    reason: Words


class Finished(Tagged):
    """A node has done all its duties: the sum of its local losses, and the bytes it sent."""

    kind: Literal["finished"] = "finished"
    loss: float | None
    """None where it is no finite number."""
    sent: dict[Traffic, Count] = Field(max_length=16)
    """By kind of message, sender's and receiver's role."""


FromNode = Hello | Stock | Capacity | LinkRate | Heartbeat | Ready | Cut | Finished
read_from_node = reader(TypeAdapter(Annotated[FromNode, Field(discriminator="kind")]))


# ------------------------------------------------------------------------ control, from the server


class Welcome(Document):
    """A node takes part; this is the job."""

    kind: Literal["welcome"] = "welcome"
    job: Job


class MeasureSelf(Document):
    """Say how fast you compute."""

    kind: Literal["measure-self"] = "measure-self"


class MeasureLink(Document):
    """Say how fast you reach another node."""

    kind: Literal["measure-link"] = "measure-link"
    peer: Name
    address: HostPort | Literal[""]
    """Empty for the server, to which there is a stream already."""


class Member(Document):
    """A client in a round, as those who work for it know it."""

    client: Count
    name: Name
    examples: Some
    first_step: Count
    attends: Some
    aggregator_layer: int = Field(ge=1, lt=2**31)
    cut_layer: int = Field(ge=1, lt=2**31)


class Begin(Tagged):
    """A node's duties in a round, which starts from what the rounds before `round` made."""

    kind: Literal["begin"] = "begin"
    own: Member
    aggregator: Count
    """Who runs this node's middle layers, by number, name and address; itself maybe."""
    aggregator_name: Name
    aggregator_address: HostPort
    members: tuple[Member, ...]
    """Whose middle layers this node runs; maybe nobody's."""
    taking_part: tuple[Count, ...]
    """Everybody."""


class Go(Tagged):
    """All are ready: start."""

    kind: Literal["go"] = "go"


class Lost(Tagged):
    """Go on without a client."""

    kind: Literal["lost"] = "lost"
    client: Count


class Abort(Tagged):
    """An attempt is given up; wait for the next."""

    kind: Literal["abort"] = "abort"
    reason: Words


class Bye(Document):
    """There is nothing more to do; `refused` says that it is this node that is not wanted."""

    kind: Literal["bye"] = "bye"
    reason: Words
    refused: bool = False


FromServer = Welcome | MeasureSelf | MeasureLink | Begin | Go | Lost | Abort | Bye
read_from_server = reader(TypeAdapter(Annotated[FromServer, Field(discriminator="kind")]))


# --------------------------------------------------------------------------------- data, both ways


class ActivationsHeader(Tagged):
    """A client's activations; the last tensor is the labels, those before it the values."""

    kind: Literal["activations"] = "activations"
    client: Count
    step: Count
    tensors: tuple[TensorHeader, ...] = Field(max_length=3)


class GradientsHeader(Tagged):
    """The gradient at a client's activations."""

    kind: Literal["gradients"] = "gradients"
    client: Count
    tensors: tuple[TensorHeader, ...] = Field(max_length=2)


class NamedTensor(TensorHeader):
    """A tensor of a layer's state."""

    layer: Words
    key: Words


class WeightsHeader(Tagged):
    """Layers of the part that `part` runs: on their way down to it, or up from it."""

    kind: Literal["weights"] = "weights"
    part: Literal["client", "aggregator"]
    clients: tuple[Count, ...]
    tensors: tuple[NamedTensor, ...]


class Probe(Document):
    """Bytes that only measure a link; the one with `left` = 0 ends the measurement."""

    kind: Literal["probe"] = "probe"
    bytes: int = Field(ge=1, le=2**20)
    left: int = Field(ge=0, le=1000)


class Probed(Document):
    """How fast probes arrived, in bytes per second."""

    kind: Literal["probed"] = "probed"
    rate: Rate


Data = ActivationsHeader | GradientsHeader | WeightsHeader | Probe | Probed
read_data = reader(TypeAdapter(Annotated[Data, Field(discriminator="kind")]))
