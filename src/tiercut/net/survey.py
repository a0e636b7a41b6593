"""The fleet as it is: every device measures itself and its links, and the server asks."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tiercut.data.progress import Progress, silent
from tiercut.documents import Document
from tiercut.fleet import Access, Between, Fleet
from tiercut.net.crew import Crew
from tiercut.net.identity import SERVER
from tiercut.net.messages import MeasureLink, MeasureSelf

MOST_PAIRS = 300
"""Links that are measured one by one; larger fleets are taken to have one radio per device."""
LONGEST = 120.0
"""Seconds that one measurement may take."""


class DeviceLost(Exception):
    """A device went away while it was measured."""


async def survey(
    crew: Crew,
    names: Sequence[str],
    server_throughput: float,
    progress: Progress = silent,
) -> Fleet:
    """Measure all devices at once, then their links one after another."""
    pairs = list(itertools.combinations(range(len(names)), 2))
    pairs = pairs if len(pairs) <= MOST_PAIRS else []
    total = 1 + len(names) + len(pairs)
    asked = [_ask(crew, name, "throughput", MeasureSelf()) for name in names]
    throughput = np.array(await asyncio.gather(*asked), dtype=np.float64)
    progress(1, total)
    to_server = np.zeros(len(names))
    for n, name in enumerate(names):
        to_server[n] = await _rate(crew, name, SERVER, "")
        if not to_server[n]:
            if name in crew.peers:  # to connect again may help
                crew.peers[name].hang_up("its link to the server cannot be measured")
            raise DeviceLost(name)
        progress(2 + n, total)
    between = np.zeros((len(names), len(names)))
    for done, (n, m) in enumerate(pairs, start=2 + len(names)):
        peer = crew.peers.get(names[m])
        if peer is None:
            raise DeviceLost(names[m])
        between[n, m] = between[m, n] = await _rate(crew, names[n], names[m], peer.hello.address)
        progress(done, total)
    examples = [_examples(crew, name) for name in names]
    return Fleet(
        names=tuple(names),
        throughput=throughput,
        examples=np.array(examples, dtype=np.int64),
        server_throughput=server_throughput,
        to_server=to_server,
        links=Between(between) if pairs or len(names) == 1 else Access(to_server.copy()),
    )


async def _rate(crew: Crew, name: str, peer: str, address: str) -> float:
    """Bytes per second from one device to another machine; 0 where there is no way."""
    wish = MeasureLink(peer=peer, address=address)
    return await _ask(crew, name, f"rate to {peer}", wish) or 0.0


async def _ask(crew: Crew, name: str, what: str, wish: Document) -> Any:
    peer = crew.peers.get(name)
    if peer is None:
        raise DeviceLost(name)
    answer = peer.ask(what)
    peer.control.put(wish)
    try:
        return await asyncio.wait_for(answer, LONGEST)
    except TimeoutError:
        peer.hang_up("it does not answer what it is asked to measure")
        raise DeviceLost(name) from None
    except asyncio.CancelledError:
        if asyncio.current_task() is not None and asyncio.current_task().cancelling():  # type: ignore[union-attr]
            raise
        raise DeviceLost(name) from None


def _examples(crew: Crew, name: str) -> int:
    peer = crew.peers.get(name)
    if peer is None or peer.examples is None:
        raise DeviceLost(name)
    return peer.examples
