"""What the parts of an emulated network are called: tiercut-PID-START-NUMBER-PART.

PID and START are the process that made it and when that process started, because process numbers
are used again; NUMBER tells its networks apart. So a later process can see whose maker is gone.
"""

from __future__ import annotations

import itertools
import os
import re
from pathlib import Path

_NAME = re.compile(r"tiercut-(\d+)-(\d+)-\d+-\w+")
_NUMBERS = itertools.count()


class Names:
    """The names of one network's parts; no other network has them."""

    def __init__(self) -> None:
        pid = os.getpid()
        self._prefix = f"tiercut-{pid}-{_start_of(pid)}-{next(_NUMBERS)}"

    def of(self, part: str | int) -> str:
        """The name of a part, such as `server`."""
        return f"{self._prefix}-{part}"


def is_abandoned(name: str) -> bool:
    """Whether this names a part of a network whose maker is gone."""
    match = _NAME.fullmatch(name)
    return match is not None and _start_of(int(match[1])) != int(match[2])


def _start_of(pid: int) -> int | None:
    """When a process started, in the kernel's ticks; none if it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat.rpartition(")")[2].split()  # the command before it may hold anything
    state, start = fields[0], fields[19]
    return None if state in "ZX" else int(start)
