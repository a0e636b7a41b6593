"""How things stand at a server: what it tells whoever asks, and what its metrics are made of."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import ConfigDict, Field

from tiercut.documents import Document
from tiercut.train.record import RealRound, Traffic

VERSION: Final = 1
"""Of what is told; raised when something of it gets another meaning or goes away."""

State = Literal["gathering", "measuring", "training", "over"]
Activity = Literal[
    "absent",  # not connected
    "connected",  # and not yet able to take part
    "waiting",  # for the next round
    "preparing",  # fetches its layers, and reaches its aggregator
    "ready",  # while others are not
    "training",
    "finished",  # with the round
    "lost",  # for the round; it takes part in the next one
]


class _Told(Document):
    """A part of the status; a newer server may tell more."""

    model_config = ConfigDict(extra="ignore")


class DeviceStatus(_Told):
    """A device that takes part, or that would like to."""

    name: str
    address: str | None
    """Where other devices call it; None of one that is absent, as is what follows."""
    version: str | None
    """Of tiercut."""
    joined: bool
    """Whether it can take part in a round."""
    examples: int | None
    silent: float | None
    """Seconds since its last sign of life."""
    sent: int
    """Bytes that came from it since it connected."""
    received: int
    """Bytes that went to it since it connected."""
    at: Activity
    reason: str | None
    """Why it was lost."""
    role: Literal["client", "aggregator"] | None
    """In the round under way; an aggregator is a client as well."""
    served_by: str | None
    """Its aggregator, where that is another device."""
    serves: int
    """How many other devices it serves."""


class LastRound(_Told):
    """The round that was accepted last."""

    round: int
    accuracy: float
    clients: int
    lost: int
    real: RealRound | None


class Status(_Told):
    """A server and its devices, now."""

    version: Literal[1] = VERSION
    tiercut: str
    """The server's version."""
    scenario: str
    scheme: str
    state: State
    expected: int
    """Devices that it takes to start."""
    rounds: int
    """That there will be."""
    done: int
    """Rounds that were accepted."""
    round: int | None
    """The one under way."""
    epochs: int
    """In a round."""
    epoch: int | None
    """Epochs of the round under way that are over."""
    last: LastRound | None
    devices: tuple[DeviceStatus, ...] = Field(strict=False)
    trained: int
    """Rounds that this server trained since it was started; counters start then too."""
    restarts: int
    """How often a round had to start again."""
    bytes: Traffic
    """Measured, in rounds that were accepted."""
    losses: dict[str, int]
    """Clients lost in rounds, by kind."""
    refusals: dict[str, int]
    """What was refused, by kind."""
