"""A training process that is killed: run in a process of its own, which already knows torch."""

import multiprocessing
import os
import random
import signal
import time
from pathlib import Path

from tests.train.instances import setting
from tiercut.train import checkpoint
from tiercut.train.loop import run
from tiercut.train.observer import Observer

# A server that has imported everything forks the victims, so that none needs seconds to start.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["tests.train.victim"])
setting()  # torch imports more when a model is first traced


class Halt(Observer):
    """Stops for good after the first epoch of a round, to be killed there."""

    def __init__(self, number, reached):
        self._number, self._reached = number, reached

    def on_epoch(self, number, epochs):
        if number == self._number:
            stop_at(self._reached)


def stop_at(reached):
    Path(reached).touch()
    time.sleep(600)


def work(changes, folder, halt, reached):
    """Train, or go on; `halt` says where to wait to be killed."""
    kind, number = halt or (None, None)
    observers = [Halt(number, reached)] if kind == "epoch" else []
    if kind in ("before rename", "after rename"):
        _halt_in_checkpoint(kind, number, reached)
    run(setting(**changes), Path(folder), resume=True, observers=observers)


def _halt_in_checkpoint(kind, number, reached):
    replace = os.replace

    def halting(source, target):
        ours = str(target).endswith(f"round-{number:06d}.safetensors")
        if ours and kind == "before rename":
            stop_at(reached)
        replace(source, target)
        if ours:
            stop_at(reached)

    checkpoint.os.replace = halting


def train_until_killed(changes, folder, halt=None, delay=None):
    """Train in a process that gets SIGKILL where it halts, or after `delay` seconds.

    Returns whether it came to its end before that.
    """
    reached = Path(folder).with_name("reached")
    reached.unlink(missing_ok=True)
    process = PROCESSES.Process(target=work, args=(changes, str(folder), halt, str(reached)))
    process.start()
    if delay is not None:
        process.join(delay)
    deadline = time.monotonic() + 60
    while halt is not None and not reached.exists():
        assert process.is_alive(), "it ended before it halted"
        assert time.monotonic() < deadline
        time.sleep(0.005)
    if halt is not None or delay is not None:
        process.kill()
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL)
    return process.exitcode == 0


def random_delays(seed, most):
    stream = random.Random(seed)
    while True:
        yield stream.uniform(0, most)
