"""A comparison in a process of its own, which is killed."""

import signal
import time
from pathlib import Path

from tests.compare.instances import carry_out, comparison
from tests.train.victim import PROCESSES, stop_at
from tiercut.compare.watcher import Watcher
from tiercut.train.observer import Observer


class HaltAfter(Watcher, Observer):
    """Stops for good after a round of one run, to be killed there."""

    def __init__(self, scheme, seed, number, reached):
        self._run, self._number, self._reached = (scheme, seed), number, reached

    def watch(self, job):
        return self if (job.scheme, job.seed) == self._run else Observer()

    def on_round(self, record):
        if record.round == self._number:
            stop_at(self._reached)


def work(folder, *halt):
    carry_out(comparison(rounds=3), Path(folder), watcher=HaltAfter(*halt))


def compare_until_killed(folder, scheme, seed, number):
    """Compare until a run has done so many rounds, and kill the process with SIGKILL there."""
    reached = folder.with_name("reached")
    reached.unlink(missing_ok=True)
    process = PROCESSES.Process(target=work, args=(folder, scheme, seed, number, reached))
    process.start()
    deadline = time.monotonic() + 60
    while not reached.exists():
        assert process.is_alive(), "it ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.002)
    process.kill()
    process.join()
    assert process.exitcode == -signal.SIGKILL
