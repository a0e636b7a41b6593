"""An emulated network: one host per client of a fleet, and the server, for as long as a `with`."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from ipaddress import IPv4Address
from types import TracebackType
from typing import Self

from tiercut.errors import InputError
from tiercut.fleet import Fleet
from tiercut.net.emulate.host import Host
from tiercut.net.emulate.interrupts import uninterrupted
from tiercut.net.emulate.leftovers import remove, sweep
from tiercut.net.emulate.links import DEVICE, rates_from
from tiercut.net.emulate.middle import ADDRESS, Middle
from tiercut.net.emulate.names import Names
from tiercut.net.emulate.throttle import SMALLEST_SHARE, require_throttle
from tiercut.net.emulate.tools import ip, require_tools


class EmulatedNetwork:
    """Hosts with the links of a fleet, and if asked with shares of this machine's cores.

    Names and addresses are known from the start; the hosts exist inside the `with`. Nothing of it
    is visible outside: neither an address nor a device of the machine itself.
    """

    def __init__(
        self,
        fleet: Fleet,
        *,
        shares: Sequence[float] | None = None,
        server_share: float | None = None,
    ) -> None:
        """`shares` are fractions of a core, one per client; left out, nobody is throttled."""
        require_tools()
        self.fleet = fleet
        self._shares = _checked_shares(fleet, shares, server_share)
        self._throttle = require_throttle() if self._shares else None
        self._names = Names()
        self._middle = Middle(self._names.of("middle"))
        self.hosts = tuple(
            self._host(index, name) for index, name in enumerate((*fleet.names, "server"))
        )

    def _host(self, index: int, name: str) -> Host:
        namespace = self._names.of(index)
        members = None
        if self._throttle is not None and index in self._shares:
            members = self._throttle.members(namespace)
        address = str(IPv4Address(ADDRESS) + 1 + index)
        return Host(name, address, namespace, f"wire{index}", self._middle, members)

    @property
    def clients(self) -> tuple[Host, ...]:
        """The clients' hosts, in the fleet's order."""
        return self.hosts[:-1]

    @property
    def server(self) -> Host:
        """The server's host."""
        return self.hosts[-1]

    def __enter__(self) -> Self:
        sweep()
        try:
            self._wire()
            for index in range(len(self.hosts)):
                self._start(index)
        except BaseException:  # Ctrl-C, too
            self._take_down()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._take_down()

    def cut(self, first: Host, second: Host) -> None:
        """Lose all packets between two hosts; nobody is told."""
        self._middle.drop(_packets(first, second))

    def mend(self, first: Host, second: Host) -> None:
        """Undo `cut` of the same two."""
        self._middle.pass_on(_packets(first, second))

    def sent(self) -> int:
        """What all hosts have sent until now, in bytes on the wire."""
        return self._middle.sent()

    def _wire(self) -> None:
        """Make the namespaces, and a wire from each host's to the middle."""
        middle = self._middle.namespace
        lines = [f"netns add {middle}"]
        for host in self.hosts:
            lines += [
                f"netns add {host.namespace}",
                f"link add {DEVICE} netns {host.namespace}"
                f" type veth peer {host.wire} netns {middle}",
            ]
        ip(lines)
        self._middle.start({host.wire: host.address for host in self.hosts})

    def _start(self, index: int) -> None:
        rates = rates_from(self.fleet, index)
        others = [n for n in range(len(self.hosts)) if n != index]
        self.hosts[index].start(
            {self.hosts[n].address: rates[n] for n in others if n in rates},
            [self.hosts[n].address for n in others if n not in rates],
            shared=self.fleet.links.shared and index < len(self.fleet),
        )
        if self._throttle is not None and index in self._shares:
            self._throttle.add(self.hosts[index].namespace, self._shares[index])

    def _take_down(self) -> None:
        with uninterrupted():
            for host in self.hosts:
                host.stop()
            remove([self._middle.namespace, *(host.namespace for host in self.hosts)])


def _packets(first: Host, second: Host) -> set[str]:
    return {f"from {a.address} to {b.address}" for a, b in ((first, second), (second, first))}


def _checked_shares(
    fleet: Fleet, shares: Sequence[float] | None, server_share: float | None
) -> dict[int, float]:
    """The share of every host that is throttled."""
    if shares is not None and len(shares) != len(fleet):
        raise InputError(
            f"{len(shares)} shares of a core were given for {len(fleet)} clients; give one each"
        )
    checked = dict(enumerate(shares or ()))
    if server_share is not None:
        checked[len(fleet)] = server_share
    cores = len(os.sched_getaffinity(0))
    for share in checked.values():
        if not (math.isfinite(share) and share >= SMALLEST_SHARE):
            raise InputError(
                f"a host cannot get {share!r} of a core; expected at least {SMALLEST_SHARE:g}"
            )
    if sum(checked.values()) > cores:
        raise InputError(
            f"the hosts' shares add up to {sum(checked.values()):g} cores, and this machine has"
            f" {cores}; give smaller ones, so that every host really gets its share"
        )
    return checked
