"""What a device works with."""

from __future__ import annotations

from collections.abc import Callable

import torch

from tiercut.engines.common import CommonModel
from tiercut.engines.feed import Feed
from tiercut.engines.nodes import Aggregator, Client
from tiercut.engines.task import Task
from tiercut.engines.transport import Address
from tiercut.models.trace import trace
from tiercut.net.letters import DTYPE
from tiercut.net.messages import Job
from tiercut.net.post import Post
from tiercut.net.rewind import Rewind
from tiercut.net.shift import Shift
from tiercut.net.throughput import measure_throughput
from tiercut.net.workshop import Outbox, Workshop


class Bench:
    """What a device works with for one job: its data, its parts of the model, and its thread."""

    def __init__(self, job: Job, task: Task, workshop: Workshop) -> None:
        self.job, self.task, self.workshop = job, task, workshop
        self.common = CommonModel(task, DTYPE)
        self._feed = Feed(task, torch.device("cpu"), DTYPE)
        self._number: int | None = None
        self.throughput: float | None = None

    def take_number(self, number: int) -> None:
        """Be client number `number`; another number is another run, and starts anew."""
        if number == self._number:
            return
        self._number = number
        self.post = Post(number, self.task.wire, self.workshop)
        self.client = Client(self.task, Address("client", number), self.post, self._feed)
        self.aggregator = Aggregator(self.task, Address("aggregator", number), self.post)
        self._rewind = Rewind((self.client, self.aggregator), self.common.prototypes)

    def begin(
        self, shift: Shift, outbox: Callable[[int], Outbox | None], done: Callable[[], None]
    ) -> None:
        """Take up the duties of a shift; on the workshop's thread, after what was done before."""
        self.post.begin(shift.tag, outbox, shift.due, done)
        self._rewind.start(shift.schedule.round)
        self.client.begin(shift.own, shift.schedule)
        self.aggregator.begin(shift.served, shift.schedule)

    def is_done(self, shift: Shift) -> bool:
        """Whether all duties are done."""
        return self.client.pace.over and (not shift.served or self.aggregator.pace.over)

    def measure(self) -> float:
        """FLOP/s of this device on the job's model."""
        if self.throughput is None:
            task = self.task
            profile = trace(task.model)
            most = max(2, task.counts[0] // task.portions)
            batch = min(task.batch, most)  # none that trains here is larger
            found = measure_throughput(task.model, profile, batch, task.optimiser)
            self.throughput = found.throughput
        return self.throughput
