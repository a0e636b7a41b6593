"""Many devices at one server: a small version of benchmarks/net/scale.py."""

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from tests.net.instances import make_known
from tests.net.site import running, scenario
from tiercut.fleet import Access, Between, Fleet, read_fleet
from tiercut.net import survey
from tiercut.net.device import Device
from tiercut.train.folder import RunFolder
from tiercut.train.journal import read_records

DEVICES = 20
EXAMPLES = 4


def fleet_of(names):
    """A strong one for every three weak ones, on fast links."""
    count = len(names)
    return Fleet(
        tuple(names),
        throughput=np.where(np.arange(count) % 4, 1e8, 1e9),
        examples=np.full(count, EXAMPLES),
        server_throughput=1e10,
        to_server=np.full(count, 1e8),
        links=Between(np.full((count, count), 1e9)),
    )


def test_light_devices_share_a_process_and_a_thread(tmp_path):
    work = scenario(DEVICES, EXAMPLES, batch=2, rounds=1)
    with ThreadPoolExecutor(1, thread_name_prefix="shared") as shared:
        light = partial(Device, shared=shared)
        with running(work, patience=1e4, joining=False) as site:
            folder = make_known(tmp_path / "run", fleet_of(site.shards))
            for name in site.shards:
                site.join(name, kind=light)
            site.train(folder, resume=True)
            names = [thread.name for thread in threading.enumerate()]
    (record,) = read_records(RunFolder(folder).rounds)
    assert (record.clients, record.lost) == (DEVICES, 0)
    assert record.samples == DEVICES * EXAMPLES * work.training.epochs
    assert record.aggregators is not None
    assert 1 < record.aggregators < DEVICES
    assert record.real is not None
    assert record.real.attempts == 1
    assert record.real.measured_bytes == record.real.predicted_bytes
    assert sum(name.startswith("workshop") for name in names) <= 1  # the server's own


def test_the_links_of_a_large_fleet_are_not_measured_one_by_one(tmp_path, monkeypatch):
    monkeypatch.setattr(survey, "MOST_PAIRS", 2)
    with running(scenario(3, EXAMPLES, rounds=1)) as site:
        site.train(tmp_path / "run")
    fleet = read_fleet(RunFolder(tmp_path / "run").fleet)
    assert isinstance(fleet.links, Access)
    assert np.array_equal(fleet.links.rates, fleet.to_server)
