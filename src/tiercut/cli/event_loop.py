"""How a verb waits for what happens on the network."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run_on_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run something on an event loop of its own; Ctrl-C ends it in good order."""
    from tiercut.cli import Interrupted

    # An exception of ours, raised by a signal amid a callback, would be swallowed by the loop. With
    # Python's own handler in place, asyncio puts one there that cancels the work instead.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return asyncio.run(work)
    except KeyboardInterrupt:
        raise Interrupted from None
    finally:
        signal.signal(signal.SIGINT, before)
