"""Where all links of an emulated network meet: a router in a namespace of its own.

A cut is a rule of the router that drops packets and tells nobody, as a broken radio link does; the
hosts' own devices see nothing of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tiercut.net.emulate.tools import enter, ip, run

ADDRESS = "10.77.0.1"
NETWORK = "10.77.0.0/16"
"""Private, and known only inside the namespaces: networks on one machine all have the same."""

_FORWARDING = "/proc/sys/net/ipv4/ip_forward"
_BEFORE_ROUTES = "pref 100"
"""Before the rule that looks a packet's route up."""


@dataclass(frozen=True)
class Traffic:
    """What a host has sent and received since it was made, in bytes on the wire."""

    sent: int
    received: int


class Middle:
    """The router."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self._dropped: set[str] = set()

    def start(self, wires: Mapping[str, str]) -> None:
        """Forward what comes in: `wires` are the devices here, and who is at the other end."""
        lines = []
        for device, address in wires.items():
            lines += [
                f"link set {device} addrgenmode none up",
                f"addr add {ADDRESS}/32 dev {device}",
                f"route add {address}/32 dev {device}",
            ]
        ip(lines, self.namespace)
        run([*enter(self.namespace), "tee", _FORWARDING], ["1"])

    def drop(self, packets: set[str]) -> None:
        """Drop such packets (`from ADDRESS to ADDRESS`) from now on, silently."""
        new = packets - self._dropped
        ip([f"rule add {which} {_BEFORE_ROUTES} blackhole" for which in new], self.namespace)
        self._dropped |= new

    def pass_on(self, packets: set[str]) -> None:
        """Drop such packets no longer."""
        old = packets & self._dropped
        ip([f"rule del {which} {_BEFORE_ROUTES} blackhole" for which in old], self.namespace)
        self._dropped -= old

    def traffic(self, device: str) -> Traffic:
        """What the host at the other end of `device` has sent and received."""
        counts = self._counts("dev", device)[0]
        return Traffic(sent=counts["rx"]["bytes"], received=counts["tx"]["bytes"])

    def sent(self) -> int:
        """What all hosts have sent, in bytes on the wire."""
        return sum(int(counts["rx"]["bytes"]) for counts in self._counts("type", "veth"))

    def _counts(self, *which: str) -> list[Any]:
        """What the kernel has counted at some of the devices here."""
        command = ["ip", "-n", self.namespace, "-json", "-stats", "link", "show", *which]
        return [found["stats64"] for found in json.loads(run(command))]
