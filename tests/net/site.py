"""A server and its devices in one process, over real sockets on loopback."""

import asyncio
import io
import json
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from functools import partial
from unittest.mock import patch

from tests.net.processes import LONGEST
from tiercut.data import load, partition
from tiercut.data.dataset import Split
from tiercut.documents import check
from tiercut.fleet import build_fleet
from tiercut.net import bench, device, rounds, serve
from tiercut.net.device import Device, Place
from tiercut.net.engine import LoopThread
from tiercut.net.logs import Log
from tiercut.net.serve import Site, Venture
from tiercut.net.streams import Insecure
from tiercut.net.throughput import measure_throughput
from tiercut.scenario import Scenario
from tiercut.seeds import Seeds
from tiercut.train.setting import find_method


def scenario(clients=3, examples=24, **training):
    """A few clients with a few digits each."""
    terms = {"batch": 8, "epochs": 2, "rounds": 3, "optimiser": "sgd", "rate": 0.05}
    data = {
        "name": "net",
        "model": {"name": "small"},
        "fleet": {"clients": clients, "examples": examples},
        "training": {**terms, **training},
        "plan": {"cost": "network"},
    }
    return check(Scenario, data, "a test")


def shards_of(work, data):
    """The samples of each client, as `tiercut data split` hands them out."""
    fleet = build_fleet(work.fleet, Seeds(work.seed))
    shards = partition(data.train.labels, fleet.examples, work.data, Seeds(work.seed))
    return {
        name: Split(data.train.images[rows], data.train.labels[rows])
        for name, rows in zip(fleet.names, shards, strict=True)
    }


class Running:
    """A site and its devices."""

    def __init__(self, work, scheme=None, patience=60.0, security=Insecure):
        self.work, self.security = work, security
        self.data = load(work.data, None)
        self.shards = shards_of(work, self.data)
        chosen, solver = find_method(work, scheme)
        self.written = io.StringIO()
        venture = Venture(work, chosen, solver, self.data, len(self.shards), patience)
        self.site = Site(venture, security("server"), Log(self.written))
        self.thread = LoopThread()
        self.devices: dict[str, Future] = {}
        self.device_log = io.StringIO()

    def join(self, name, *, split=None, kind=Device, security=None):
        """Start a device."""
        own = self.shards[name] if split is None else split

        async def run():
            joining = kind(
                security or self.security(name),
                Place(self.address, "127.0.0.1:0"),
                lambda classes, shape: own,
                Log(self.device_log),
            )
            await joining.run()

        self.devices[name] = asyncio.run_coroutine_threadsafe(run(), self.thread.loop)

    def kill(self, name):
        """End a device at once; its streams break."""
        self.devices.pop(name).cancel()

    def train(self, folder, *, resume=False, observers=()):
        """Train all rounds."""
        return self.site.train(
            folder, resume=resume, overwrite=False, command=[], observers=observers
        )

    def events(self, kind):
        """What the server's log says of one kind."""
        lines = [json.loads(line) for line in self.written.getvalue().splitlines()]
        return [line for line in lines if line["event"] == kind]


@contextmanager
def running(work, scheme=None, *, patience=None, joining=True, security=Insecure):
    """A site that is open, with all its devices on their way; `security` is by a node's name.

    Without a patience nobody is ever late, however busy this machine is. Nobody measures for long
    how fast it is: what comes out need not be precise.
    """
    run = Running(work, scheme, patience or 60.0, security)
    changed = ExitStack()
    for module in (bench, serve):
        hasty = partial(measure_throughput, seconds=0.1)
        changed.enter_context(patch.object(module, "measure_throughput", hasty))
    if patience is None:
        changed.enter_context(patch.object(rounds, "GRACE", LONGEST))
        changed.enter_context(patch.object(device, "REACH", LONGEST))
    with changed, _open(run, joining=joining):
        yield run


@contextmanager
def _open(run, *, joining):
    try:
        with run.site.open_at("127.0.0.1:0") as run.address:
            for name in run.shards if joining else ():
                run.join(name)
            yield
        for ended in run.devices.values():
            ended.result(timeout=LONGEST)
    finally:
        run.thread.close()
