"""Tasks of an event loop that live and end together."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


async def until_one_ends(*work: Coroutine[Any, Any, None]) -> None:
    """Run all until the first ends, by itself or by a problem, and end the others with it.

    Where several end at once, by several problems, the one that was named first tells its own.
    """
    tasks = [asyncio.ensure_future(piece) for piece in work]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in tasks:
        if task in done:
            task.result()
