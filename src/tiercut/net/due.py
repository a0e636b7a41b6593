"""The round's plan as an access list: what a peer may send, in which order and how large.

Whatever is not due is refused before room is made for it, and what was due once is not due again.
What was due in an attempt that was given up, or for a client that was lost, may still be on its
way; it is skipped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from tiercut.engines.schedule import Turn
from tiercut.net.frames import Refused, Skip
from tiercut.net.letters import DTYPE, Letter, Tag
from tiercut.net.messages import ActivationsHeader, GradientsHeader, NamedTensor, WeightsHeader
from tiercut.net.tensors import TensorHeader, describe_packed, size
from tiercut.scenario import Wire

LABEL: Final = "int64"
KEPT = 8
"""Attempts of which something may still be on its way; who lags behind further starts over."""


@dataclass
class Flow:
    """The activations of one client, batch after batch."""

    turn: Turn
    shape: tuple[int, ...]
    """Of one sample."""
    wire: Wire
    taken: int = 0

    def values(self, step: int) -> tuple[TensorHeader, ...]:
        """What the values of a batch are on the wire."""
        _, batch = self.turn.place(step)
        return describe_packed((self.turn.sizes[batch], *self.shape), self.wire, DTYPE)

    def take(self, header: ActivationsHeader) -> None:
        """Refuse all but the next batch."""
        steps = self.turn.steps
        if self.taken == len(steps) or header.step != steps[self.taken]:
            raise Refused(f"batch {header.step} of client {header.client} out of turn")
        values = self.values(header.step)
        labels = TensorHeader(dtype=LABEL, shape=values[0].shape[:1])
        _check_tensors(header.tensors, (*values, labels), "activations")
        self.taken += 1


@dataclass
class Due:
    """What one peer may send in one attempt at a round, on one stream."""

    flows: dict[int, Flow] = field(default_factory=dict)
    """Activations, by client."""
    weights: dict[str, dict[int, tuple[NamedTensor, ...]]] = field(default_factory=dict)
    """Layers, by part and client."""
    gradients: dict[int, tuple[TensorHeader, ...]] = field(default_factory=dict)
    """Answers to activations that were sent, by client."""
    answers: bool = True
    """Whether activations that were sent have any."""
    lost: set[int] = field(default_factory=set)
    """Clients that nobody waits for any more."""
    stream: object = None
    """The one on which the first message came."""

    def expect(self, client: int, tensors: tuple[TensorHeader, ...]) -> None:
        """Activations like these were sent to the peer."""
        if self.answers:
            self.gradients[client] = tensors

    def allowed(self, header: Letter, stream: object) -> int | Skip:
        """The bytes that are due after a header that came on a stream."""
        self.stream = stream if self.stream is None else self.stream
        if stream is not self.stream:
            raise Refused(f"{header.kind} on another stream than what came before")
        if isinstance(header, ActivationsHeader):
            self._flow(header.client).take(header)
        elif isinstance(header, GradientsHeader):
            self._take_gradient(header)
        else:
            self._take_weights(header)
        total = sum(map(size, header.tensors))
        # Layers that were trained for several clients are wanted while one of them is left.
        return Skip(total) if self.lost.issuperset(_clients_of(header)) else total

    def _flow(self, client: int) -> Flow:
        if client not in self.flows:
            raise Refused(f"activations of client {client}, which are another's to send")
        return self.flows[client]

    def _take_gradient(self, header: GradientsHeader) -> None:
        expected = self.gradients.pop(header.client, None)
        if expected is None:
            raise Refused(f"a gradient for client {header.client} that nobody waits for")
        _check_tensors(header.tensors, expected, "gradients")

    def _take_weights(self, header: WeightsHeader) -> None:
        waiting = self.weights.get(header.part, {})
        if not header.clients or len(set(header.clients)) != len(header.clients):
            raise Refused("weights for nobody, or twice for one client")
        for client in header.clients:
            expected = waiting.pop(client, None)
            if expected is None:
                raise Refused(f"weights of client {client} that were not asked for")
            _check_tensors(header.tensors, expected, "weights")


class AccessList:
    """What everybody may send: in the attempt under way, and in those that were given up lately."""

    def __init__(self) -> None:
        self._attempts: dict[Tag, Mapping[str, Due]] = {}
        self._now: Tag | None = None

    def begin(self, tag: Tag, due: Mapping[str, Due]) -> None:
        """Another attempt is under way; `due` is by the peers' names."""
        self._now = tag
        self._attempts[tag] = due
        for old in tuple(self._attempts)[:-KEPT]:
            del self._attempts[old]

    def end(self) -> None:
        """It is over: what still comes is wanted no more."""
        self._now = None

    def allowed(self, peer: str, header: Letter, stream: object) -> int | Skip:
        """The bytes that are due after a header from a peer."""
        due = self._attempts.get(header.tag, {}).get(peer)
        if due is None:
            raise Refused(f"{header.kind} of round {header.round + 1}, in which it has no part now")
        total = due.allowed(header, stream)
        return Skip(total) if isinstance(total, int) and header.tag != self._now else total


def _clients_of(header: Letter) -> tuple[int, ...]:
    return header.clients if isinstance(header, WeightsHeader) else (header.client,)


def _check_tensors(
    found: Iterable[TensorHeader], expected: Iterable[TensorHeader], what: str
) -> None:
    found, expected = tuple(found), tuple(expected)
    if found != expected:
        if len(found) != len(expected):
            raise Refused(f"{what}: {len(found)} tensors where {len(expected)} are due")
        wrong = next((f, e) for f, e in zip(found, expected, strict=True) if f != e)
        raise Refused(f"{what}: {_show(wrong[0])} where {_show(wrong[1])} is due")


def _show(header: TensorHeader) -> str:
    name = f"{header.layer}.{header.key} " if isinstance(header, NamedTensor) else ""
    return f"{name}{header.dtype} {list(header.shape)}"
