"""Small pieces of work that the tests share; workers import them from here.

As a program, with the address of a cluster, it does some of them there.
"""

import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tiercut.cluster.connect import connected
from tiercut.cluster.spread import Spread
from tiercut.errors import InputError, RoomError

TOOLS = {"factor": 3}


@dataclass(frozen=True)
class Once:
    """Pieces that wait, until they are killed, if they have not been begun before."""

    folder: Path


def multiply(common, item, say):
    """Says where and what it does, and does it."""
    say(("in", os.getcwd()))
    say(("begun", item))
    return common["factor"] * item


def stumble(_, item, say):
    """Gets 1 wrong in a way that can be explained, and 2 in a way that cannot."""
    say(item)
    if item == 1:
        raise InputError("1 is not what it must be; take another number")
    return 1 / (2 - item)


def wait_once(common, item, say):
    """Says which process it is in; the first time it never ends."""
    begun = common.folder / str(item)
    is_first = not begun.exists()
    begun.touch()  # before anything is said: who hears of this process may kill it at once
    say(os.getpid())
    if is_first:
        time.sleep(1000)
    return item


def crowd(common, item, say):
    """Has no room the first time; 2 has none at all."""
    begun = common.folder / str(item)
    is_first = not begun.exists()
    begun.touch()
    if is_first or item == 2:
        raise RoomError(f"no room for {item}")
    return item


def wait(_, item, say):
    """Says which process it is in, and never ends unless it is given 0."""
    say(os.getpid())
    if item:
        time.sleep(1000)
    return item


def break_off(_, item, say):
    """Is killed after half of what it says has left."""
    pipe = say.__self__
    os.write(pipe.fileno(), (100).to_bytes(4, "big") + b"half")
    os.kill(os.getpid(), signal.SIGKILL)


def ignore(*_):
    """Somebody who does not care what is said."""


def main(address):
    with connected(address):
        ends = Spread(1).do(multiply, TOOLS, range(3), hear=ignore, on_lost=ignore)
        print(sorted(ended.result() for ended in ends))


if __name__ == "__main__":
    main(sys.argv[1])
