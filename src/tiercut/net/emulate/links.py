"""How fast which two hosts can talk, and the queues that make it so.

On independent links every host sends to every other one at their own rate, both ways at once. With
one radio per client, what it sends and what it receives add up: both pass one queue, which is as
fast as its fastest peer allows, and each peer's part of it no faster than their link.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tiercut.fleet import Fleet

DEVICE = "eth0"
"""A host's end of its wire."""
RADIO = "radio"
"""The device whose queue a host's sends and receives share."""
SMALLEST_BURST = 4096
"""Bytes that may pass at once after a pause, on slow links: two full packets and a half."""
BURST_SECONDS = 1e-3
"""The same on fast links, as time: the kernel's clock would slow a link with smaller bursts."""
LARGEST_PACKET = 65_536
"""What the kernel hands to a device at once at most, to be cut into packets later."""
QUANTUM = 1514
"""Links that share a radio take turns by one full packet."""
QUEUE = 100
"""Packets of one peer that wait for a radio: with the kernel's own 32, TCP loses and repeats many,
and with many more everything that is said in between waits long."""


def rates_from(fleet: Fleet, index: int) -> dict[int, float]:
    """The rate to every host that `index` has a link to, bytes/s; the server comes after all."""
    count = len(fleet)
    if index == count:
        return dict(enumerate(fleet.to_server.tolist()))
    clients = np.arange(count)
    rates = fleet.links.pairs(np.full(count, index), clients)
    linked = {int(other): float(rates[other]) for other in clients if other != index}
    return {other: rate for other, rate in linked.items() if rate > 0} | {
        count: float(fleet.to_server[index])
    }


def burst_of(rate: float) -> int:
    """How many bytes may pass at once on a link of this rate."""
    return max(SMALLEST_BURST, round(rate * BURST_SECONDS))


def packet_limit(rates: Mapping[str, float]) -> int:
    """What a host hands to its device at once: no more than a burst, or it would be one."""
    return min(LARGEST_PACKET, burst_of(max(rates.values())))


def independent_queues(rates: Mapping[str, float]) -> list[str]:
    """`tc` commands: a rate of its own to every address."""
    lines = [f"qdisc add dev {DEVICE} root handle 1: htb"]
    for minor, (address, rate) in enumerate(rates.items(), start=1):
        lines.append(_class(DEVICE, "1:", minor, rate, rate))
        lines.append(_filter(DEVICE, "dst", address, minor))
    return lines


def radio_devices() -> list[str]:
    """`ip` commands: the device that a host's sends and receives share."""
    return [
        f"link add {RADIO} txqueuelen {QUEUE} type ifb",
        f"link set {RADIO} addrgenmode none up",
    ]


def radio_queues(rates: Mapping[str, float]) -> list[str]:
    """`tc` commands: one rate for all that is sent and received, and limits by address."""
    fastest = max(rates.values())
    lines = [f"qdisc add dev {DEVICE} clsact"]
    lines += [
        f"filter add dev {DEVICE} {way} protocol ip prio 1 u32 match u32 0 0"
        f" action mirred egress redirect dev {RADIO}"
        for way in ("ingress", "egress")
    ]
    lines += [f"qdisc add dev {RADIO} root handle 1: htb", _class(RADIO, "1:", 1, fastest, fastest)]
    for minor, (address, rate) in enumerate(rates.items(), start=2):
        # What a class is promised it gets even if the radio is busy: so all promises add up to it.
        promised = min(rate, fastest / len(rates))
        lines.append(_class(RADIO, "1:1", minor, promised, rate))
        lines += [_filter(RADIO, end, address, minor) for end in ("src", "dst")]
    return lines


def _class(device: str, parent: str, minor: int, promised: float, most: float) -> str:
    burst = burst_of(most)
    return (
        f"class add dev {device} parent {parent} classid 1:{minor:x} htb quantum {QUANTUM}"
        f" rate {_whole(promised)}bps burst {burst} ceil {_whole(most)}bps cburst {burst}"
    )


def _whole(rate: float) -> int:
    return max(1, round(rate))


def _filter(device: str, end: str, address: str, minor: int) -> str:
    return (
        f"filter add dev {device} parent 1: protocol ip prio 1"
        f" u32 match ip {end} {address}/32 flowid 1:{minor:x}"
    )
