"""A training run on an emulated network: the server's program, and one for each device."""

from __future__ import annotations

import math
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from tiercut.errors import TiercutError
from tiercut.net.emulate.host import Host
from tiercut.net.emulate.network import EmulatedNetwork

GLANCE = 0.02
"""Seconds between two looks at how things stand."""
FAREWELL = 10.0
"""Seconds that devices have to end by themselves after the server has."""
LISTENS, HAS_JOINED = '"event": "listening"', '"event": "joined"'
"""What the log of the server, and that of a device, says once it is ready to be measured."""


@dataclass(frozen=True)
class Program:
    """A command, and the file for its log, which tells when it is ready."""

    command: Sequence[str]
    log: Path
    ready: str
    """What its log says when it is."""
    share: float | None = None
    """Of a core; it computes on as many threads as can use it."""


class ProgramFailed(TiercutError):
    """A program ended with an error."""

    def __init__(self, host: Host, code: int, log: Path) -> None:
        said = [line for line in log.read_text().splitlines() if not line.startswith("{")]
        reason = said[-1].removeprefix("tiercut: ") if said else f"{log} has all that it said"
        super().__init__(f"{host.name} stopped with exit code {code}: {reason}")


def rehearse(
    network: EmulatedNetwork,
    server: Program,
    devices: Sequence[Program],
    glance: Callable[[], None],
) -> None:
    """Run all programs until the server's ends; `glance` is called again and again meanwhile.

    Programs have the whole machine until they are ready: to load Python and torch on a small share
    of a core would take minutes, and is no part of what is to be seen.
    """
    with ExitStack() as files:
        first = _Running(network.server, server, files)
        _wait_for([first], glance)
        others = [
            _Running(host, device, files)
            for host, device in zip(network.clients, devices, strict=True)
        ]
        _wait_for([first, *others], glance)
        while first.ended() is None:
            _check(others)
            glance()
            time.sleep(GLANCE)
        _check([first])
        end = time.monotonic() + FAREWELL
        for other in others:
            with suppress(subprocess.TimeoutExpired):  # the network kills it when it is taken down
                other.process.wait(max(0.0, end - time.monotonic()))


class _Running:
    """A program on its host."""

    def __init__(self, host: Host, program: Program, files: ExitStack) -> None:
        self.host, self.program, self.ready = host, program, False
        program.log.parent.mkdir(parents=True, exist_ok=True)
        log = files.enter_context(program.log.open("w"))
        self.process = host.popen(
            program.command,
            throttled=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            env={**os.environ, **_threads(program.share)},
        )

    def look(self) -> None:
        """Hold it to its share once it is ready."""
        if not self.ready and self.program.ready in self.program.log.read_text():
            self.ready = True
            self.host.throttle(self.process)

    def ended(self) -> int | None:
        """Its exit code, once it has come to its end."""
        code: int | None = self.process.poll()
        return code


def _threads(share: float | None) -> dict[str, str]:
    """More threads than a share can use would only wait for one another."""
    return {} if share is None else {"OMP_NUM_THREADS": str(max(1, math.ceil(share)))}


def _wait_for(programs: Sequence[_Running], glance: Callable[[], None]) -> None:
    while not all(program.ready for program in programs):
        for program in programs:
            program.look()
        _check(programs)
        glance()
        time.sleep(GLANCE)


def _check(programs: Sequence[_Running]) -> None:
    for running in programs:
        code = running.ended()
        if code:
            raise ProgramFailed(running.host, code, running.program.log)
