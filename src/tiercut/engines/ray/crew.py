"""The workers of an engine, as the driver knows them: what each was told since its state was kept.

A worker that is lost is replaced, and the new one is told the same again.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from tiercut.errors import TiercutError

Ref = Any
"""Where something is in the store."""

MOST_LOSSES = 3
"""Times in a row that a worker may be lost over one call: then the call is what kills it."""
FAN_IN = 8
"""Means combined by one worker; more workers combine theirs in a tree."""


@dataclass(frozen=True, eq=False)
class Call:
    """A method of a station, with its arguments; what is in the store goes by where it is."""

    method: str
    arguments: tuple[Any, ...] = ()
    objects: int = 0
    """Results that stay in the store, after the small first one."""


class Lost(Exception):
    """A station is gone; the message says what is known of it."""


class Cluster(Protocol):
    """Where stations run, and the store that they share."""

    def open_station(self) -> Any:
        """A new station, which may still be starting."""

    def close_station(self, station: Any) -> None:
        """Make sure that a station that was lost is gone."""

    def wait_for(self, station: Any, name: str) -> None:
        """Until it has started."""

    def send(self, station: Any, call: Call) -> list[Ref]:
        """Begin a call; calls of one station are carried out in order."""

    def put(self, value: Any) -> Ref:
        """Put something into the store."""

    def get(self, ref: Ref) -> Any:
        """Take something out of it, when it is there; raises Lost where its station is."""


class Reply(NamedTuple):
    """What came of a call."""

    result: Any
    objects: list[Ref]


class Worker:
    """One station after another, and what the present one's state depends on."""

    def __init__(self, name: str, cluster: Cluster) -> None:
        self.name, self._cluster = name, cluster
        self._station = cluster.open_station()
        self.history: list[Call] = []

    def wait(self) -> None:
        """Until it has started."""
        self._cluster.wait_for(self._station, self.name)

    def send(self, call: Call) -> list[Ref]:
        """Begin a call."""
        return self._cluster.send(self._station, call)

    def settle(self, call: Call, refs: list[Ref], before: Sequence[Call]) -> Reply:
        """Wait for a call; a new station must be told first what came `before`."""
        losses = 0
        while True:
            try:
                if losses:
                    refs = self._replace(call, before)
                return Reply(self._cluster.get(refs[0]), refs[1:])
            except Lost as lost:
                losses += 1
                self._note_loss(str(lost), losses)

    def _note_loss(self, reason: str, losses: int) -> None:
        if losses == MOST_LOSSES:
            raise TiercutError(
                f"{self.name} was lost {losses} times in a row ({reason}); see whether its machine"
                f" has memory enough, or ask for more workers, then go on with --resume"
            )
        warnings.warn(
            f"{self.name} was lost ({reason}); a new one does again what it did since its state was"
            f" kept",
            stacklevel=2,
        )

    def _replace(self, call: Call, before: Sequence[Call]) -> list[Ref]:
        """Begin a call on a new station, which has come as far as the old one had."""
        self._cluster.close_station(self._station)
        self._station = self._cluster.open_station()
        self.wait()
        for earlier in before:
            self._cluster.get(self.send(earlier)[0])
        return self.send(call)


class Crew:
    """All workers of a cluster. They work for one engine at a time."""

    def __init__(self, cluster: Cluster, workers: int) -> None:
        self.store = cluster
        self.workers = [Worker(f"worker {n + 1}", cluster) for n in range(workers)]
        for worker in self.workers:
            worker.wait()


def tell(workers: Sequence[Worker], calls: Sequence[Call]) -> list[Reply]:
    """Let each worker do what changes its state."""
    before = [tuple(worker.history) for worker in workers]
    for worker, call in zip(workers, calls, strict=True):
        worker.history.append(call)
    return _carry_out(workers, calls, before)


def ask(workers: Sequence[Worker], calls: Sequence[Call]) -> list[Reply]:
    """Let each worker do what leaves its state as it is."""
    return _carry_out(workers, calls, [worker.history for worker in workers])


def _carry_out(
    workers: Sequence[Worker], calls: Sequence[Call], before: Sequence[Sequence[Call]]
) -> list[Reply]:
    sent = [worker.send(call) for worker, call in zip(workers, calls, strict=True)]
    everything = zip(workers, calls, sent, before, strict=True)
    return [worker.settle(call, refs, history) for worker, call, refs, history in everything]


def combine(workers: Sequence[Worker], means: Sequence[Ref], most: int = 1) -> list[Ref]:
    """Means of means, until there are no more than `most` of them."""
    while len(means) > most:
        parts = [means[n : n + FAN_IN] for n in range(0, len(means), FAN_IN)]
        calls = [Call("combine", tuple(part), objects=1) for part in parts]
        means = [reply.objects[0] for reply in ask(workers[: len(calls)], calls)]
    return list(means)
