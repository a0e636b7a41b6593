"""`tiercut` in processes of their own, to be stopped and killed."""

import os
import signal
import socket
import sys
import time

import torch

from tests.train.victim import PROCESSES
from tiercut.cli import main
from tiercut.net import device, serve  # noqa: F401 - so that whoever is forked knows them already

# Both lists in one, whoever is imported first: there is one server that forks for all tests.
PROCESSES.set_forkserver_preload(["tests.train.victim", "tests.net.processes"])

LONGEST = 60.0
"""Seconds after which something that must happen has not."""


def work(words, said):
    """Be `tiercut WORDS`; all that it says is added to a file."""
    handle = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(handle, sys.stdout.fileno())
    os.dup2(handle, sys.stderr.fileno())
    os.environ["TIERCUT_DEBUG"] = "1"
    sys.argv = ["tiercut", *words]
    torch.set_num_threads(1)  # there are more processes than cores
    main()


class Program:
    """`tiercut WORDS` in a process."""

    def __init__(self, *words, said):
        self.said = said
        self._process = PROCESSES.Process(
            target=work, args=([str(word) for word in words], str(said)), daemon=True
        )
        self._process.start()

    @property
    def pid(self):
        return self._process.pid

    @property
    def alive(self):
        return self._process.is_alive()

    def send(self, number):
        os.kill(self._process.pid, number)

    def kill(self):
        """End it as a power cut would."""
        self._process.kill()
        self._process.join()

    def wait(self, seconds=LONGEST):
        """Its exit code, once it has come to its end."""
        self._process.join(seconds)
        assert self._process.exitcode is not None, f"it does not end: {self.said.read_text()}"
        return self._process.exitcode

    def freeze(self):
        """Let it do nothing, say nothing and end nothing, as behind a cable that was cut."""
        self.send(signal.SIGSTOP)

    def thaw(self):
        self.send(signal.SIGCONT)


def free_port():
    """One that nobody listens on now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def wait_until(holds, seconds=LONGEST):
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "what must happen does not"
        time.sleep(0.01)
