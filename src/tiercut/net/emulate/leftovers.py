"""Taking emulated networks down: processes, namespaces and cgroups, by their names.

A network whose maker was killed cannot do it itself; the next one that is made sweeps it away.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from tiercut.errors import TiercutError
from tiercut.net.emulate.names import is_abandoned
from tiercut.net.emulate.throttle import Throttle, find_throttle
from tiercut.net.emulate.tools import NAMESPACES, run

SECONDS_TO_DIE = 5.0
"""How long killed processes may take to be gone."""


def sweep() -> list[str]:
    """Take down the networks whose makers are gone; gives the names of what was removed."""
    throttle = find_throttle()
    found = {path.name for path in NAMESPACES.glob("*")}
    found |= set() if throttle is None else set(throttle.names())
    abandoned = sorted(filter(is_abandoned, found))
    if abandoned:
        remove(abandoned)
    return abandoned


def remove(names: Collection[str]) -> None:
    """Remove the namespaces and cgroups of these names, and what runs in them, where there are."""
    throttle = find_throttle()
    _kill(names, throttle)
    there = [name for name in names if (NAMESPACES / name).exists()]
    with suppress(TiercutError):  # others may sweep at the same time; what stays is told below
        run(["ip", "-force", "-batch", "-"], [f"netns del {name}" for name in there])
    if throttle is not None:
        for name in names:
            throttle.remove(name)
    left = [name for name in names if _is_there(name, throttle)]
    if left:
        raise TiercutError(
            f"{left[0]} of an emulated network cannot be removed, because something in it does not"
            f" end; end it, and the next emulated network sweeps the rest away"
        )


def _is_there(name: str, throttle: Throttle | None) -> bool:
    return (NAMESPACES / name).exists() or (throttle is not None and throttle.has(name))


def _kill(names: Collection[str], throttle: Throttle | None) -> None:
    """Kill what runs there until nothing does: it may start more in the meantime."""
    deadline = time.monotonic() + SECONDS_TO_DIE
    while (found := _running(names, throttle)) and time.monotonic() < deadline:
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)


def _running(names: Collection[str], throttle: Throttle | None) -> set[int]:
    """The processes in namespaces and cgroups of these names."""
    listed = set() if throttle is None else set().union(*map(throttle.running, names))
    places = {_identity(NAMESPACES / name) for name in names} - {None}
    processes = [path for path in Path("/proc").iterdir() if path.name.isdecimal()]
    return listed | {int(p.name) for p in processes if _identity(p / "ns" / "net") in places}


def _identity(path: Path) -> tuple[int, int] | None:
    """What tells a namespace from others; none if it is gone, or not for us to see."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
