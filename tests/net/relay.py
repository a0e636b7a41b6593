"""A wire between two programs on one machine, which can be cut and shaken."""

import asyncio
from contextlib import suppress


class Relay:
    """Carries bytes to one address; while it is cut nothing passes, and nobody is told."""

    def __init__(self, loops, target):
        self._loops, self._target = loops, target
        self._writers, self._tasks = set(), set()
        self.address = loops.run(self._open())

    async def _open(self):
        self._whole = asyncio.Event()
        self._whole.set()
        self._server = await asyncio.start_server(self._join, "127.0.0.1", 0)
        return f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def _join(self, reader, writer):
        host, port = self._target.split(":")
        self._tasks.add(asyncio.current_task())
        try:
            await self._whole.wait()
            far_reader, far_writer = await asyncio.open_connection(host, int(port))
            pair = {writer, far_writer}
            self._writers |= pair
            await asyncio.gather(self._carry(reader, far_writer), self._carry(far_reader, writer))
            self._writers -= pair
        except OSError:
            writer.close()
        finally:
            self._tasks.discard(asyncio.current_task())

    async def _carry(self, reader, writer):
        with suppress(OSError):
            while data := await reader.read(65536):
                await self._whole.wait()
                writer.write(data)
                await writer.drain()
        await self._whole.wait()  # not even that the other end is gone passes a cut
        writer.close()

    def cut(self):
        self._loops.loop.call_soon_threadsafe(self._whole.clear)

    def mend(self):
        self._loops.loop.call_soon_threadsafe(self._whole.set)

    def shake(self):
        """Break all connections, which can be made again at once."""
        self._loops.loop.call_soon_threadsafe(self._abort)

    def _abort(self):
        for writer in self._writers:
            writer.transport.abort()

    def close(self):
        """End it, and all that is connected."""

        async def end():
            self._server.close()
            self._whole.set()
            while self._tasks:
                self._abort()
                await asyncio.wait(self._tasks, timeout=0.1)

        self._loops.run(end())
