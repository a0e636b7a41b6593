"""How the devices stand: who is there, and how far each has come in the round under way."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Literal

from tiercut.net.attempt import Attempt
from tiercut.net.crew import Crew, Peer
from tiercut.net.status import Activity, DeviceStatus


@dataclass(frozen=True)
class _Duty:
    """A device's part in the round under way; without one it waits for the next."""

    at: Activity = "waiting"
    reason: str | None = None
    role: Literal["client", "aggregator"] | None = None
    served_by: str | None = None
    serves: int = 0


def devices_now(
    crew: Crew, roster: Iterable[str], attempt: Attempt | None
) -> tuple[DeviceStatus, ...]:
    """All devices by name: those of the roster, and those who are connected.

    Lives on the event loop, as what it looks at does.
    """
    duties = {} if attempt is None else _duties(attempt)
    return tuple(
        _device(name, crew.peers.get(name), duties.get(name, _Duty()))
        for name in sorted({*roster, *crew.peers})
    )


def _duties(attempt: Attempt) -> dict[str, _Duty]:
    names = {n: turn.source for n, turn in attempt.schedule.turns.items()}
    serves = Counter(k for n, k in attempt.aggregator_of.items() if n != k)
    under_way = attempt.present <= attempt.ready
    return {
        names[n]: _Duty(
            at=_activity(n, attempt, under_way),
            reason=attempt.lost.get(n),
            role="aggregator" if serves[n] else "client",
            served_by=None if n == k else names[k],
            serves=serves[n],
        )
        for n, k in attempt.aggregator_of.items()
    }


def _activity(client: int, attempt: Attempt, under_way: bool) -> Activity:
    if client in attempt.lost:
        return "lost"
    if attempt.is_done(client):
        return "finished"
    if under_way:
        return "training"
    return "ready" if client in attempt.ready else "preparing"


def _device(name: str, peer: Peer | None, duty: _Duty) -> DeviceStatus:
    if peer is None:
        return DeviceStatus(
            name=name,
            address=None,
            version=None,
            joined=False,
            examples=None,
            silent=None,
            sent=0,
            received=0,
            **asdict(replace(duty, at="absent")),
        )
    return DeviceStatus(
        name=name,
        address=peer.hello.address,
        version=peer.hello.version,
        joined=peer.joined,
        examples=peer.examples,
        silent=time.monotonic() - peer.heard,
        sent=peer.sent,
        received=peer.received,
        **asdict(duty if peer.joined else replace(duty, at="connected")),
    )
