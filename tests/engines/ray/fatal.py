"""What takes other things along when it goes; workers import it from here."""

import os
import signal
from pathlib import Path

from torch import nn

SIXTH = 6
"""Of a worker's batches: with five clients on two workers, one in its second epoch."""


class Fatal(nn.Module):
    """Does nothing but that: once, on a worker, in the middle of an epoch."""

    seen = 0

    def __init__(self, marker: Path):
        super().__init__()
        self.marker, self.driver = marker, os.getpid()

    def forward(self, inputs):
        Fatal.seen += 1
        if os.getpid() != self.driver and Fatal.seen == SIXTH and not self.marker.exists():
            self.marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return inputs


class Owner:
    """What it puts into the store is lost with it."""

    def own(self):
        import ray

        return [ray.put(bytes(10**6))]
