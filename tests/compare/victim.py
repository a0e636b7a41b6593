"""A comparison in a process of its own, which is killed."""

import signal
import time
from pathlib import Path

from tests.compare.instances import carry_out, comparison
from tests.train.victim import PROCESSES


def work(folder):
    carry_out(comparison(rounds=3), Path(folder))


def compare_until_killed(folder, path, lines):
    """Compare until a file has so many lines, and kill the process with SIGKILL right then."""
    process = PROCESSES.Process(target=work, args=(str(folder),))
    process.start()
    deadline = time.monotonic() + 60
    while not path.exists() or path.read_bytes().count(b"\n") < lines:
        assert process.is_alive(), "it ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.002)
    process.kill()
    process.join()
    assert process.exitcode == -signal.SIGKILL
