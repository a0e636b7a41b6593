"""The streams that other devices have opened to this one."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

from tiercut.net.door import Door
from tiercut.net.frames import Refused
from tiercut.net.streams import Gone, Security
from tiercut.net.tasks import until_one_ends
from tiercut.net.workshop import Outbox


@dataclass(eq=False)
class Caller:
    """A stream and who is at its other end."""

    name: str
    context: Any
    outbox: Outbox
    task: asyncio.Task[Any] | None
    refused: Refused | None = None

    def end(self, refused: Refused | None = None) -> None:
        """End the stream; the caller is told why, where it is its own fault."""
        self.refused = refused
        if self.task is not None:
            self.task.cancel()


class Callers:
    """Everybody who has called and not hung up."""

    def __init__(self, security: Security) -> None:
        self._door = Door(security)
        self._here: list[Caller] = []

    def name_of(self, context: Any) -> str:
        """Who calls; Refused where it must not."""
        return self._door.name_of(context)

    def named(self, name: str) -> list[Caller]:
        """The streams of one device, the newest first; from any thread."""
        return [caller for caller in reversed(tuple(self._here)) if caller.name == name]

    async def serve(
        self, name: str, context: Any, outbox: Outbox, listening: Coroutine[Any, Any, None]
    ) -> None:
        """Serve a stream to its end; Refused where that is the caller's fault."""
        caller = Caller(name, context, outbox, asyncio.current_task())
        try:
            with self._door.open_for(name):
                self._here.append(caller)
                try:
                    await until_one_ends(listening, outbox.run())
                finally:
                    self._here.remove(caller)
        except Gone:
            pass
        except asyncio.CancelledError:  # by gRPC or by ourselves
            if caller.refused is not None:
                raise caller.refused from None
        finally:
            listening.close()  # where it was not let in

    def check(self) -> None:
        """End the streams of those who may call no longer."""
        for caller in tuple(self._here):
            try:
                self._door.name_of(caller.context)
            except Refused as refused:
                caller.end(refused)

    def end_all(self) -> None:
        """End all streams; nobody is to blame."""
        for caller in tuple(self._here):
            caller.end()
