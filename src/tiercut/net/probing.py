"""How fast a link is: a few messages in a row, timed where they arrive."""

from __future__ import annotations

import asyncio

from tiercut.net.frames import Refused
from tiercut.net.messages import Probe, Probed
from tiercut.net.workshop import Outbox

PIECE = 64 * 1024
PIECES = 8
"""Half a megabyte: a fifth of a second at the paper's rates, and enough to see past buffers."""
LONGEST = 30.0
"""Seconds after which a link counts as not there."""
SHORTEST = 1e-6
"""Seconds that a clock can tell apart."""
MOST_ANSWERS = 16
"""That wait for a peer which asks on and does not listen."""


class Meter:
    """Times the probes that arrive on one stream, and answers on it."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._first: float | None = None
        self._bytes = 0

    def take(self, probe: Probe, now: float) -> None:
        """Count a probe; the last one is answered."""
        if self._first is None:
            self._first = now  # its own bytes were on their way before anybody looked
        else:
            self._bytes += probe.bytes
        if probe.left:
            return
        if self._outbox.backlog >= MOST_ANSWERS:
            raise Refused("measurements whose answers nobody reads")
        rate = max(1.0, self._bytes / max(now - self._first, SHORTEST))
        self._first, self._bytes = None, 0
        self._outbox.put(Probed(rate=rate))


def send_probes(outbox: Outbox) -> None:
    """Send what the other end will time."""
    zeros = bytes(PIECE)
    for left in reversed(range(PIECES)):
        outbox.put(Probe(bytes=PIECE, left=left), [zeros])


async def rate_of(answer: asyncio.Future[float]) -> float | None:
    """The rate that the other end answers with; None where no answer comes."""
    try:
        return await asyncio.wait_for(answer, LONGEST)
    except TimeoutError:
        return None
