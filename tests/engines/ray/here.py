"""A cluster in this process: the same stations and calls, and stations that go when asked to."""

import pickle
import zlib
from dataclasses import dataclass, field

from tests.engines.instances import settings
from tiercut.engines.ray.crew import Crew, Lost
from tiercut.engines.ray.engine import Sharded
from tiercut.engines.ray.keeping import Keeping
from tiercut.engines.ray.station import Station
from tiercut.engines.threads import Threads
from tiercut.errors import TiercutError


class Stored:
    """An object in the store: bytes, read where they lie, and never to be written to."""

    def __init__(self, value, maker=None):
        self.maker = maker
        buffers = []
        self._bytes = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
        self._buffers = [bytes(buffer.raw()) for buffer in buffers]
        self._sum = self._checksum()

    def load(self):
        return pickle.loads(self._bytes, buffers=self._buffers)

    def _checksum(self):
        return zlib.crc32(b"".join(self._buffers), zlib.crc32(self._bytes))

    @property
    def is_intact(self):
        return self._checksum() == self._sum


@dataclass
class Here:
    """Loses the station that is given a call whose number is in `losses`.

    As a machine would, it may take along what it put into the store.
    """

    losses: frozenset = frozenset()
    with_objects: bool = False
    calls: list = field(default_factory=list)
    gone: list = field(default_factory=list)
    stored: list = field(default_factory=list)

    def open_station(self):
        return Station()

    def close_station(self, station):
        assert station in self.gone

    def wait_for(self, station, name):
        assert station not in self.gone

    def put(self, value, maker=None):
        self.stored.append(Stored(value, maker))
        return self.stored[-1]

    def load(self, ref):
        if self.with_objects and ref.maker in self.gone:
            raise TiercutError("that went with a machine")
        return ref.load()

    def send(self, station, call):
        if len(self.calls) in self.losses:
            self.gone.append(station)
        self.calls.append(call.method)
        if station in self.gone:
            return [None] * (1 + call.objects)
        try:
            arguments = [self.load(a) if isinstance(a, Stored) else a for a in call.arguments]
            results = getattr(station, call.method)(*arguments)
        except TiercutError as problem:
            return [problem] * (1 + call.objects)
        if not call.objects:
            return [self.put(results)]
        assert len(results) == 1 + call.objects
        return [self.put(result, station) for result in results]

    def get(self, ref):
        if ref is None:
            raise Lost("the test wants it so")
        if isinstance(ref, TiercutError):
            raise ref
        return self.load(ref)


def sharded(task, workers, *, here=None, share=float("inf"), precision="fp64"):
    """The engine on so many workers in this process; their states are kept as often as can be."""
    crew = Crew(here or Here(), workers)
    return Sharded(task, settings(1, precision), Threads, crew, Keeping(share))
