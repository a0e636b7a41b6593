"""Messages between nodes, and the in-memory transport of the `reference` engine.

Nodes only know `send`. What carries a message is the transport's business, and so is counting the
bytes that leave a device; a client that aggregates talks to itself for nothing.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from torch import Tensor

from tiercut.engines.wire import carried, size_on_wire
from tiercut.scenario import Wire

Role = Literal["client", "aggregator", "server"]


@dataclass(frozen=True)
class Address:
    """A node: its role, and the device that plays it (the server is device -1)."""

    role: Role
    device: int


SERVER = Address("server", -1)


@dataclass(frozen=True, eq=False)
class Activations:
    """What a client's samples became at the end of a part, with their labels."""

    client: int
    step: int
    values: Tensor
    labels: Tensor


@dataclass(frozen=True, eq=False)
class Gradients:
    """The loss's gradient at the activations that were sent."""

    client: int
    values: Tensor


@dataclass(frozen=True, eq=False)
class Weights:
    """Layers on their way down at a round's start, or up at its end on behalf of `clients`."""

    clients: tuple[int, ...]
    layers: dict[str, dict[str, Tensor]]


Message = Activations | Gradients | Weights
Receive = Callable[[Message], None]


class Transport(Protocol):
    """Carries messages between nodes."""

    def attach(self, address: Address, receive: Receive) -> None:
        """Hand messages for a node to it."""

    def send(self, sender: Address, receiver: Address, message: Message) -> None:
        """Put a message on its way."""


class InMemory:
    """Delivers messages in the order in which they were sent."""

    def __init__(self, wire: Wire = "fp32") -> None:
        self._wire = wire
        self._receivers: dict[Address, Receive] = {}
        self.bytes: Counter[str] = Counter()
        """Bytes between devices so far, by kind of message, sender's and receiver's role."""
        self._waiting: deque[tuple[Address, Message]] = deque()

    def attach(self, address: Address, receive: Receive) -> None:
        """See Transport."""
        self._receivers[address] = receive

    def send(self, sender: Address, receiver: Address, message: Message) -> None:
        """See Transport."""
        if sender.device != receiver.device:
            kind = type(message).__name__.lower()
            self.bytes[f"{kind} {sender.role} {receiver.role}"] += self._size(message)
            if not isinstance(message, Weights):
                message = replace(message, values=carried(message.values, self._wire))
        self._waiting.append((receiver, message))

    def deliver(self) -> None:
        """Deliver until nobody has anything more to say."""
        while self._waiting:
            receiver, message = self._waiting.popleft()
            self._receivers[receiver](message)

    def _size(self, message: Message) -> int:
        if isinstance(message, Weights):
            return sum(t.nbytes for layer in message.layers.values() for t in layer.values())
        return size_on_wire(message.values, self._wire)
