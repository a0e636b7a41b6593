"""A round as its nodes know it: who trains on which batches, and how far everybody has come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiercut.engines.feed import batch_sizes
from tiercut.engines.task import Brief, Round
from tiercut.scenario import Interval


@dataclass(frozen=True)
class Turn:
    """One client's part in a round."""

    source: str
    """Whose random streams it uses."""
    examples: int
    """What averages weigh it with."""
    sizes: tuple[int, ...]
    """The samples in each batch of an epoch."""
    first_step: int
    """Batches that it had trained on before, ever."""
    attends: int
    """Epochs that it is there for."""

    @property
    def steps(self) -> range:
        """The numbers of its batches in this round."""
        return range(self.first_step, self.first_step + self.attends * len(self.sizes))

    def place(self, step: int) -> tuple[int, int]:
        """The epoch and the batch in it, both from 0, of batch number `step`."""
        return divmod(step - self.first_step, len(self.sizes))


@dataclass(frozen=True, eq=False)
class Schedule:
    """Who does what when in a round; clients are numbers."""

    round: int
    """Counts from 0."""
    epochs: int
    turns: Mapping[int, Turn]
    """Of those that a node needs to know, in the order in which sums are made."""
    taking_part: Set[int]
    """Everybody."""

    def sizes_of(self, clients: Iterable[int]) -> NDArray[np.int64]:
        """The samples in every batch that these clients train on in the round."""
        turns = [self.turns[n] for n in clients]
        sizes = [size for turn in turns for size in turn.attends * turn.sizes]
        return np.array(sizes, dtype=np.int64)


def make_schedule(task: Brief, plan: Round, steps: Sequence[int]) -> Schedule:
    """What every node is told of a round, given the batches that each client had before."""
    attends = plan.present.sum(0)
    taking_part = [n for n in task.order.tolist() if attends[n]]
    turns = {
        n: Turn(
            source=task.sources[n],
            examples=task.counts[n],
            sizes=tuple(batch_sizes(task.counts[n], task.batch, task.portions)),
            first_step=steps[n],
            attends=int(attends[n]),
        )
        for n in taking_part
    }
    return Schedule(plan.index, task.epochs, turns, turns.keys())


@dataclass(frozen=True)
class BatchOver:
    """All clients of a host are done with batch `number` (from 1), those of `sizes` in it."""

    number: int
    sizes: Mapping[int, int]


@dataclass(frozen=True)
class EpochOver:
    """All clients of a host are done with an epoch; `number` counts from 1."""

    number: int


class Pace:
    """How far the clients of one host are, and what must wait for the others.

    Replicas are averaged when all have come as far. Until then, what comes after the average is
    held back; between two averages everybody goes at its own speed.
    """

    def __init__(self, schedule: Schedule, clients: Set[int], interval: Interval) -> None:
        self._epochs, self._turns = schedule.epochs, schedule.turns
        self._stride = 1 if interval == "batch" else interval if isinstance(interval, int) else None
        self.present = set(clients)
        """Who is there in this epoch."""
        self.epoch = 0
        self._batch = 0
        self._done = dict.fromkeys(self.present, 0)
        self._stay()

    @property
    def over(self) -> bool:
        """Whether the round is."""
        return self.epoch == self._epochs

    def is_open(self, client: int, step: int) -> bool:
        """Whether a client's batch may be trained on now."""
        epoch, batch = self._turns[client].place(step)
        if epoch != self.epoch or self._stride is None:
            return epoch == self.epoch
        return batch < (self._batch // self._stride + 1) * self._stride

    def count(self, client: int) -> None:
        """One more batch of a client is done."""
        self._done[client] += 1

    def drop(self, client: int) -> None:
        """Wait for a client no longer."""
        self.present.discard(client)

    def late(self) -> Set[int]:
        """Those furthest behind whose epoch is not over; others may only be waiting for them."""
        done = {n: self._done[n] for n in tuple(self.present)}  # other threads may ask
        behind = {n: d for n, d in done.items() if d < len(self._turns[n].sizes)}
        return {n for n, d in behind.items() if d == min(behind.values())}

    def next_moment(self) -> BatchOver | EpochOver | None:
        """What has come to its end, each thing once; the caller acts on it before asking again."""
        if self.over:
            return None
        sizes = {n: turn.sizes for n, turn in self._turns.items() if n in self.present}
        last = max((len(s) for s in sizes.values()), default=0)
        if self._stride is not None and self._batch < last:
            return self._end_batch(sizes)
        if any(self._done[n] < len(s) for n, s in sizes.items()):
            return None
        self.epoch += 1
        self._batch = 0
        self._done = dict.fromkeys(self._done, 0)
        return EpochOver(self.epoch)

    def begin_epoch(self) -> None:
        """The last one's end has been acted upon: those who were there only until then are gone."""
        if not self.over:
            self._stay()

    def _stay(self) -> None:
        self.present = {n for n in self.present if self._turns[n].attends > self.epoch}

    def _end_batch(self, sizes: Mapping[int, Sequence[int]]) -> BatchOver | None:
        number = self._batch + 1
        if any(self._done[n] < min(number, len(s)) for n, s in sizes.items()):
            return None
        self._batch = number
        return BatchOver(number, {n: s[number - 1] for n, s in sizes.items() if len(s) >= number})
