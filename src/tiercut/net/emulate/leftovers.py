"""Taking emulated networks down: processes, namespaces, cgroups and files, by their names.

A network whose maker was killed cannot do it itself; the next one that is made sweeps it away.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tiercut.errors import MissingError, TiercutError
from tiercut.net.emulate.interrupts import uninterrupted
from tiercut.net.emulate.names import Names, is_abandoned
from tiercut.net.emulate.throttle import Throttle, find_throttle
from tiercut.net.emulate.tools import NAMESPACES, run

SECONDS_TO_END = 5.0
"""How long what was killed may take to be gone."""


def sweep() -> None:
    """Take down the networks whose makers are gone."""
    throttle = find_throttle()
    found = {path.name for path in NAMESPACES.glob("*")}
    found |= set() if throttle is None else set(throttle.names())
    with suppress(TiercutError):  # no reason not to make another; the next sweep tries again
        remove(list(filter(is_abandoned, found)))
    for folder in Path(tempfile.gettempdir()).iterdir():
        if is_abandoned(folder.name):
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def passing_files() -> Iterator[Path]:
    """A folder for what hosts need while a network is there; nobody else may look into it."""
    folder = Path(tempfile.gettempdir()) / Names().of("files")
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        with uninterrupted():
            shutil.rmtree(folder, ignore_errors=True)


def remove(names: Collection[str]) -> None:
    """Remove the namespaces and cgroups of these names, where there are, and all that runs there.

    That takes several goes: what is killed takes a moment to end, may have started more, and a
    tool that a killed maker had called may still be at work; others may sweep at the same time.
    """
    throttle = find_throttle()
    deadline = time.monotonic() + SECONDS_TO_END
    while left := [name for name in names if _is_there(name, throttle)]:
        if time.monotonic() > deadline:
            raise TiercutError(
                f"{left[0]} of an emulated network cannot be removed, because something in it does"
                f" not end; end it, and the next emulated network sweeps the rest away"
            )
        if running := _running(left, throttle):
            _kill(running)
        else:
            _delete(left, throttle)
        time.sleep(0.002)


def _is_there(name: str, throttle: Throttle | None) -> bool:
    return (NAMESPACES / name).exists() or (throttle is not None and throttle.has(name))


def _kill(processes: Collection[int]) -> None:
    for pid in processes:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _delete(names: Collection[str], throttle: Throttle | None) -> None:
    there = [name for name in names if (NAMESPACES / name).exists()]
    with suppress(MissingError):
        run(["ip", "-force", "-batch", "-"], [f"netns del {name}" for name in there])
    if throttle is not None:
        for name in names:
            throttle.remove(name)


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
