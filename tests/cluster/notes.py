"""Somebody who listens to pieces of work, and what is done to their processes."""

import os
import signal
from pathlib import Path


class Notes:
    """Remembers what was said and lost, by piece of work."""

    def __init__(self, then=lambda item, said: None):
        self.said, self.lost, self.then = {}, [], then

    def hear(self, item, said):
        self.said.setdefault(item, []).append(said)
        self.then(item, said)

    def on_lost(self, item, reason):
        self.lost.append((item, reason))


def do(workers, work, common, items, notes):
    return workers.do(work, common, items, hear=notes.hear, on_lost=notes.on_lost)


def kill(_, process):
    os.kill(process, signal.SIGKILL)


def is_alive(process):
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
