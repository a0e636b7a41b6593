"""Which callers are let in, how often at a time, and for how long."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tiercut.net.frames import Refused
from tiercut.net.identity import OPERATOR, SERVER
from tiercut.net.streams import Security

MOST_STREAMS = 8
"""That one device may have open here; it needs two, and two more while it connects again."""


class Door:
    """Knows who is inside."""

    def __init__(self, security: Security) -> None:
        self._security = security
        self._inside: Counter[str] = Counter()

    def name_of(self, context: Any) -> str:
        """The device that calls; Refused where it is none, or where it may call no longer.

        TLS asks for a certificate once. It can expire and be taken back later, so ask here again.
        """
        name = self._security.caller(context)
        if name in (SERVER, OPERATOR):
            raise Refused(f"{name} is not the name of a device")
        return name

    @contextmanager
    def open_for(self, name: str) -> Iterator[None]:
        """Let one stream of a device in, unless it has enough of them."""
        if self._inside[name] >= MOST_STREAMS:
            raise Refused(f"more than {MOST_STREAMS} streams of one device")
        self._inside[name] += 1
        try:
            yield
        finally:
            self._inside[name] -= 1
            self._inside += Counter()  # forgets those with none
