"""A host of an emulated network: an address, and a place to run commands in."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tiercut.net.emulate.interrupts import uninterrupted
from tiercut.net.emulate.links import (
    DEVICE,
    independent_queues,
    packet_limit,
    radio_devices,
    radio_queues,
)
from tiercut.net.emulate.middle import ADDRESS, NETWORK, Middle, Traffic
from tiercut.net.emulate.tools import enter, ip, tc

CONGESTION_CONTROL = "cubic"
"""How TCP finds its rate, whatever the machine prefers. BBR, some machines' choice, takes the wait
behind packets that go the other way for a slow link: it used 0.56 of one that both ends fill."""

_IN_CGROUP = 'echo $$ >"$0" && exec "$@"'
"""A shell becomes a member of a cgroup, and then the command: all of it is throttled."""


class Host:
    """A client's device, or the server."""

    def __init__(
        self,
        name: str,
        address: str,
        namespace: str,
        wire: str,
        middle: Middle,
        members: Path | None,
    ) -> None:
        """`wire` is the device in the middle; `members` takes the processes of a cgroup, if any."""
        self.name, self.address, self.namespace, self.wire = name, address, namespace, wire
        self._middle, self._members = middle, members
        self._started: list[subprocess.Popen[Any]] = []

    def start(
        self, rates: Mapping[str, float], unreachable: Sequence[str], *, shared: bool
    ) -> None:
        """Give the host its address, its routes and its rates to other addresses."""
        ip(
            [
                "link set lo up",
                f"link set {DEVICE} addrgenmode none gso_max_size {packet_limit(rates)} up",
                f"addr add {self.address}/32 dev {DEVICE}",
                f"route add {NETWORK} via {ADDRESS} dev {DEVICE} onlink"
                f" congctl {CONGESTION_CONTROL}",
                *(f"route add unreachable {address}/32" for address in unreachable),
                *(radio_devices() if shared else ()),
            ],
            self.namespace,
        )
        tc(radio_queues(rates) if shared else independent_queues(rates), self.namespace)

    def popen(
        self, args: Sequence[str], *, throttled: bool = True, **options: Any
    ) -> subprocess.Popen[Any]:
        """Start a command in this host, as subprocess.Popen does.

        It leads a session of its own, so that os.killpg reaches all that it starts. Whatever still
        runs when the network is taken down is killed. Unless it is to be `throttled` from the
        start, it has the whole machine to get ready with, until `throttle`.
        """
        command = [*enter(self.namespace), *args]
        if throttled and self._members is not None:
            command = ["sh", "-c", _IN_CGROUP, str(self._members), *command]
        with uninterrupted():  # a process that nobody knows of could not be stopped
            process = subprocess.Popen(command, start_new_session=True, **options)
            self._started.append(process)
        return process

    def throttle(self, process: subprocess.Popen[Any]) -> None:
        """Hold a process that was started here to this host's share, if it has one."""
        if self._members is not None and process.poll() is None:
            with suppress(ProcessLookupError):  # it has just ended
                self._members.write_text(str(process.pid))

    def stop(self) -> None:
        """Kill all that was started here."""
        for process in self._started:
            if process.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def cut(self) -> None:
        """Lose all packets from and to this host; nobody is told."""
        self._middle.drop(self._packets())

    def mend(self) -> None:
        """Undo `cut`."""
        self._middle.pass_on(self._packets())

    def _packets(self) -> set[str]:
        return {f"from {self.address}", f"to {self.address}"}

    def traffic(self) -> Traffic:
        """What this host has sent and received, in bytes on the wire."""
        return self._middle.traffic(self.wire)
