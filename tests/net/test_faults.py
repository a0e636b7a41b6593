"""Devices and servers that are killed, cut off, slow or out of room: training goes on."""

import asyncio
import json
import subprocess
import time
from contextlib import suppress
from dataclasses import replace
from functools import partial
from threading import Event, Thread

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from tests.net.campaign import Campaign
from tests.net.instances import FLEET, make_known
from tests.net.processes import LONGEST, Program, free_port, wait_until
from tests.net.relay import Relay
from tests.net.site import running, scenario, shards_of
from tiercut.data import load
from tiercut.data.dataset import Split
from tiercut.engines.reference import Reference
from tiercut.errors import InputError
from tiercut.models.profile import shipped_profile
from tiercut.net import reception
from tiercut.net.device import Device, Place
from tiercut.net.messages import Go, Probe
from tiercut.net.rounds import GRACE
from tiercut.plan.plan import read_plan
from tiercut.train.checkpoint import checkpoints, read_checkpoint
from tiercut.train.folder import RunFolder
from tiercut.train.journal import read_records
from tiercut.train.loop import run
from tiercut.train.observer import Observer
from tiercut.train.setting import build_setting

CLOSE = {"rtol": 1e-4, "atol": 1e-5}
NAMES = FLEET.names
PROFILE = shipped_profile("small")


class Events(Observer):
    """Notes who took part, and lets things happen: after (round, epoch), after a round, or after
    ("plan", round), when there is a new plan for it."""

    def __init__(self, events):
        self._events = events
        self.crews = {}
        """Who was there from a round on, by number."""

    def on_start(self, start):
        self._plan = RunFolder(start.folder).plan
        self.crews[start.done + 1] = read_plan(self._plan).clients

    def on_replan(self, number, replanned):
        self.crews[number] = read_plan(self._plan).clients
        self._events.pop(("plan", number), bool)()

    def on_epoch(self, number, epochs):
        self._events.pop((number, epochs), bool)()

    def on_round(self, record):
        self._events.pop(record.round, bool)()

    def crew(self, number):
        return self.crews[max(n for n in self.crews if n <= number)]


class Replay(Reference):
    """The reference engine with the devices that were there; `until[round, name]` are the epochs
    that one was there for."""

    def __init__(self, task, crew_of, until):
        super().__init__(task)
        self._crew_of, self._until = crew_of, until
        self._fleets = {NAMES: FLEET}
        self._round = 0

    def fleet(self):
        self._round += 1
        crew = tuple(self._crew_of(self._round))
        here = np.array([NAMES.index(name) for name in crew])
        return self._fleets.setdefault(crew, FLEET.subset(here))

    def run_round(self, plan, on_epoch=bool):
        present = plan.present.copy()
        for (number, name), epochs in self._until.items():
            if number == self._round:
                present[epochs:, NAMES.index(name)] = False
        return super().run_round(replace(plan, present=present), on_epoch)


def assert_as_replayed(work, scheme, folder, crew_of, until=None):
    """The weights are those of the reference engine, whoever came and went."""
    setting = replace(build_setting(work, scheme=scheme), fleet=FLEET)
    engine = Replay(setting.task, crew_of, until or {})
    run(setting, folder.with_name("replayed"), live=engine)
    found = load_file(RunFolder(folder).model)
    wanted = load_file(RunFolder(folder.with_name("replayed")).model)
    assert found.keys() == wanted.keys()
    for key, value in wanted.items():
        torch.testing.assert_close(found[key], value, **CLOSE)


def records_of(folder):
    """Every round once, and the newest state is that of the last."""
    records = read_records(RunFolder(folder).rounds)
    newest, _ = read_checkpoint(checkpoints(RunFolder(folder).checkpoints)[0])
    assert newest.round == len(records)
    return records


@pytest.fixture
def folder(tmp_path):
    """A run's folder in which the fleet is known already, so that nobody need measure it."""
    return make_known(tmp_path / "run")


@pytest.fixture
def programs(tmp_path):
    """Start `tiercut WORDS`; whatever is left at the end is killed."""
    started = []

    def start(*words):
        started.append(Program(*words, said=tmp_path / f"said-{len(started)}.txt"))
        return started[-1]

    yield start
    for program in started:
        program.kill()
        # gRPC may print one of its own when a server that stops cancels its streams.
        assert "src/tiercut/" not in program.said.read_text(), program.said.read_text()


@pytest.fixture
def device(programs, tmp_path):
    """Start a device as a process, given where its server is and what samples it has."""

    def start(address, name, own):
        path = tmp_path / f"{name}.npz"
        np.savez(path, images=own.images, labels=own.labels)
        words = ("join", address, "--insecure", "--name", name, "--data", path, "--threads", 1)
        return programs(*words)

    return start


@pytest.fixture
def member(device):
    """Start a device of a site as a process."""
    return lambda site, name: device(site.address, name, site.shards[name])


def is_there(site, name):
    return any(d.name == name and d.joined for d in site.site.ask_status().devices)


LOCKSTEP = "multihop"
"""Without a local loss nobody is more than a batch ahead of the server."""


def test_a_client_that_is_killed_is_left_out_and_welcomed_back(folder, member):
    work = scenario(clients=4)
    with running(work, LOCKSTEP, joining=False) as site:
        for name in ("client-1", "client-3", "client-4"):
            site.join(name)
        victim = member(site, "client-2")

        def come_back():
            member(site, "client-2")
            wait_until(lambda: is_there(site, "client-2"))

        events = Events({(2, 1): victim.kill, 2: come_back})
        site.train(folder, resume=True, observers=[events])
    records = records_of(folder)
    assert [record.lost for record in records] == [0, 1, 0]
    assert [record.clients for record in records] == [4, 4, 4]
    assert [record.samples for record in records] == [192, 144, 192]
    assert [record.real.attempts for record in records] == [1, 1, 1]
    assert_as_replayed(work, LOCKSTEP, folder, events.crew, {(2, "client-2"): 1})


@pytest.mark.parametrize("scheme", [LOCKSTEP, "aa-hsfl-ll"])
def test_a_round_whose_aggregator_is_killed_starts_again_with_another_plan(folder, member, scheme):
    work = scenario(clients=4)
    with running(work, scheme, joining=False) as site:
        for name in ("client-2", "client-3", "client-4"):
            site.join(name)
        victim = member(site, "client-1")

        def halt():
            """With a local loss it could be done with the round before anybody kills it."""
            victim.freeze()
            Thread(target=kill_in_round).start()

        def kill_in_round():
            wait_until(lambda: site.site.ask_status().round == 2)
            victim.kill()

        def come_back():
            member(site, "client-1")
            wait_until(lambda: is_there(site, "client-1"))

        death = {(2, 1): victim.kill} if scheme == LOCKSTEP else {1: halt}
        events = Events({**death, 2: come_back})
        site.train(folder, resume=True, observers=[events])
    records = records_of(folder)
    assert [record.real.attempts for record in records] == [1, 2, 1]
    assert [record.clients for record in records] == [4, 3, 4]
    assert [record.lost for record in records] == [0, 0, 0]
    assert_as_replayed(work, scheme, folder, events.crew)


def test_everybody_leaves_and_training_goes_on_with_who_returns(folder):
    work = scenario(clients=4)
    with running(work) as site:

        def leave():
            for name in NAMES:
                site.kill(name)
            Thread(target=return_later).start()

        def return_later():
            wait_until(lambda: site.events("waiting"))
            site.join("client-3")

        events = Events({(1, 1): leave})
        site.train(folder, resume=True, observers=[events])
    records = records_of(folder)
    assert [record.clients for record in records] == [1, 1, 1]
    assert records[0].real.attempts > 1  # one more for each that is noticed late
    assert_as_replayed(work, None, folder, lambda _: ("client-3",))


def test_a_device_that_comes_back_with_other_data_is_refused(folder):
    work = scenario(clients=4)
    with running(work) as site:
        own = site.shards["client-2"]
        other = Split(own.images[:20], own.labels[:20])

        def swap():
            site.kill("client-2")
            site.join("client-2", split=other)
            with pytest.raises(InputError, match=r"had 24 examples .* and has 20; join with the"):
                site.devices.pop("client-2").result(LONGEST)

        site.train(folder, resume=True, observers=[Events({1: swap})])
    assert [record.clients for record in records_of(folder)] == [4, 3, 3]
    assert any("has 20" in line["reason"] for line in site.events("refused"))


def test_who_leaves_between_plan_and_round_is_planned_without(folder):
    work = scenario(clients=4)
    with running(work) as site:

        def leave(name):
            site.kill(name)
            wait_until(lambda: not is_there(site, name))

        events = {1: partial(leave, "client-4"), ("plan", 2): partial(leave, "client-3")}
        events = Events(events)
        site.train(folder, resume=True, observers=[events])
    records = records_of(folder)
    assert [record.clients for record in records] == [4, 2, 2]
    assert [record.real.attempts for record in records] == [1, 2, 1]
    assert_as_replayed(work, None, folder, events.crew)


@pytest.mark.parametrize("scheme", ["sfl", "aa-hsfl-ll"])
def test_who_left_between_rounds_returns(folder, scheme):
    work = scenario(clients=4)
    with running(work, scheme) as site:

        def leave():
            site.kill("client-2")
            wait_until(lambda: not is_there(site, "client-2"))

        def come_back():
            site.join("client-2")
            wait_until(lambda: is_there(site, "client-2"))

        events = Events({1: leave, 2: come_back})
        site.train(folder, resume=True, observers=[events])
    assert [record.clients for record in records_of(folder)] == [4, 3, 4]
    assert_as_replayed(work, scheme, folder, events.crew)


class Slow(Device):
    """Stays connected; `held` it computes no further, `unready` it takes up no round, and `deaf` it
    reads no tensors."""

    held, unready, deaf = Event(), Event(), Event()

    async def _act_in_shift(self, message, shift):
        if isinstance(message, Go):
            self._workshop.add(self._hold)
        await super()._act_in_shift(message, shift)

    def _hold(self):
        while self.held.is_set():
            time.sleep(0.01)

    async def _prepare(self, begin, shift):
        while self.unready.is_set():
            await asyncio.sleep(0.01)
        await super()._prepare(begin, shift)

    async def _listen(self, talk, outbox):
        while self.deaf.is_set():
            await asyncio.sleep(0.01)
        await super()._listen(talk, outbox)


@pytest.fixture
def slow():
    """A kind of slow device, which is none any more at the end."""
    yield Slow
    for event in (Slow.held, Slow.unready, Slow.deaf):
        event.clear()


def test_a_straggler_is_left_out_after_a_deadline_that_comes_from_the_plan(folder, slow):
    work = scenario(clients=4, rounds=2)
    with running(work, LOCKSTEP, patience=3.0, joining=False) as site:
        for name in NAMES:
            site.join(name, kind=slow if name == "client-2" else Device)
        slow.held.set()
        site.train(folder, resume=True, observers=[Events({1: slow.held.clear})])
    first, second = records_of(folder)
    assert (first.lost, second.lost) == (1, 0)
    assert second.clients == 4
    (loss,) = site.events("lost")
    deadline = 3.0 * first.real.predicted.training / work.training.epochs + GRACE
    assert loss["reason"] == f"an epoch took longer than {deadline:.1f} s"
    assert_as_replayed(work, LOCKSTEP, folder, lambda _: NAMES, {(1, "client-2"): 0})


def test_one_straggler_does_not_take_those_with_it_who_wait_for_it(folder, slow):
    work = scenario(clients=4, rounds=1, aggregator_interval="batch", server_interval="batch")
    with running(work, LOCKSTEP, patience=2.0, joining=False) as site:
        for name in NAMES:
            site.join(name, kind=slow if name == "client-2" else Device)
        slow.held.set()
        site.train(folder, resume=True)
    (record,) = records_of(folder)
    assert (record.lost, record.real.attempts) == (1, 1)
    assert_as_replayed(work, LOCKSTEP, folder, lambda _: NAMES, {(1, "client-2"): 0})


def test_a_round_starts_again_without_an_aggregator_that_does_not_take_it_up(folder, slow):
    work = scenario(clients=4, rounds=2)
    with running(work, LOCKSTEP, patience=2.0, joining=False) as site:
        for name in NAMES:
            site.join(name, kind=slow if name == "client-1" else Device)
        slow.unready.set()
        events = Events({1: slow.unready.clear})
        site.train(folder, resume=True, observers=[events])
    first, second = records_of(folder)
    assert (first.clients, first.real.attempts) == (3, 2)
    assert (second.clients, second.lost) == (4, 0)
    assert_as_replayed(work, LOCKSTEP, folder, events.crew)


def test_nobody_waits_for_a_device_that_does_not_take_what_it_is_sent(folder, slow):
    work = scenario(clients=4, rounds=2)
    with running(work, LOCKSTEP, patience=2.0, joining=False) as site:
        slow.deaf.set()
        for name in NAMES:
            site.join(name, kind=slow if name == "client-2" else Device)
        wait_until(lambda: is_there(site, "client-2"))
        way = site.site._reception.crew.peers["client-2"].data
        for left in reversed(range(20)):
            way.put(Probe(bytes=2**20, left=left), [bytes(2**20)])

        def return_by_itself():
            slow.deaf.clear()
            wait_until(lambda: is_there(site, "client-2"))

        site.train(folder, resume=True, observers=[Events({1: return_by_itself})])
    first, second = records_of(folder)
    assert (first.lost, second.lost, second.clients) == (1, 0, 4)
    assert site.events("left")[0]["reason"] == "it does not take what it is sent"


def test_a_device_that_says_nothing_more_is_found_by_its_silence(folder, member, monkeypatch):
    monkeypatch.setattr(reception, "SILENCE", 4.0)
    work = scenario(clients=4, rounds=3)
    with running(work, LOCKSTEP, patience=1000.0, joining=False) as site:
        for name in ("client-1", "client-3", "client-4"):
            site.join(name)
        victim = member(site, "client-2")

        def return_by_itself():
            victim.thaw()
            wait_until(lambda: is_there(site, "client-2"))

        events = Events({(1, 1): victim.freeze, 2: return_by_itself})
        site.train(folder, resume=True, observers=[events])
    records = records_of(folder)
    assert [record.lost for record in records] == [1, 0, 0]
    assert [record.clients for record in records] == [4, 3, 4]
    assert site.events("silent")
    assert_as_replayed(work, LOCKSTEP, folder, events.crew, {(1, "client-2"): 1})


def test_links_between_devices_that_are_cut_are_planned_around(folder):
    work = scenario(clients=4, rounds=5)
    with running(work, LOCKSTEP, patience=2.0, joining=False) as site:
        own = f"127.0.0.1:{free_port()}"
        relay = Relay(site.thread, own)

        def behind_relay(security, place, load, log):
            return Device(security, Place(place.server, own, advertise=relay.address), load, log)

        for name in NAMES:
            site.join(name, kind=behind_relay if name == "client-1" else Device)
        events = Events({(1, 1): relay.cut})
        site.train(folder, resume=True, observers=[events])
        relay.close()
    records = records_of(folder)
    assert [record.lost for record in records[:2]] == [1, 1]  # found by its deadline, then known
    assert "client-1 is out of its reach" in site.events("lost")[1]["reason"]
    assert (records[-1].clients, records[-1].lost) == (4, 0)
    plan = read_plan(RunFolder(folder).plan)
    served = [n for n, k in enumerate(plan.aggregator_of) if plan.clients[k] == "client-1"]
    assert [plan.clients[n] for n in served] == ["client-1"]


@pytest.fixture
def server(programs, folder, tmp_path):
    """Start the server as a process, or start it again."""
    path, port = tmp_path / "scenario.toml", free_port()

    def start(work):
        path.write_text(as_toml(work))
        words = ("--insecure", "--listen", f"127.0.0.1:{port}", "--patience", 60, "-o", folder)
        return programs("serve", path, *words, "--resume")

    start.address = f"127.0.0.1:{port}"
    return start


def as_toml(work):
    """The sections of a scenario that `scenario` sets, as a file."""
    said = work.model_dump(mode="json", exclude_unset=True)
    lines = [f"name = {json.dumps(said.pop('name'))}"]
    for section, entries in said.items():
        lines += [f"[{section}]", *(f"{k} = {json.dumps(v)}" for k, v in entries.items())]
    return "\n".join(lines)


def own_samples(work):
    return shards_of(work, load(work.data, None))


def rounds_in(folder):
    path = RunFolder(folder).rounds
    return path.read_bytes().count(b"\n") if path.exists() else 0


def test_a_server_that_is_killed_goes_on_after_its_last_checkpoint(folder, server, device):
    endless = scenario(clients=4, rounds=100_000)
    members = [device(server.address, name, own) for name, own in own_samples(endless).items()]
    for delay in (0.0, 0.2):
        victim, before = server(endless), rounds_in(folder)
        wait_until(lambda before=before: rounds_in(folder) > before)
        time.sleep(delay)
        victim.kill()
    rounds = rounds_in(folder) + 2
    work = scenario(clients=4, rounds=rounds)
    assert server(work).wait() == 0
    assert [member.wait() for member in members] == [0, 0, 0, 0]
    records = records_of(folder)
    assert [record.lost for record in records] == [0] * rounds
    resumed = json.loads(RunFolder(folder).manifest.read_text())["resumed"]
    assert len(resumed) == 2
    assert_as_replayed(work, None, folder, lambda _: NAMES)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of its own for the run, with little room."""
    place = tmp_path / "run"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", place], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no small file system without rights: {mounted.stderr.decode().strip()}")
    yield place
    subprocess.run(["umount", place], check=True)


def test_a_full_disk_stops_the_server_and_loses_nothing(small_disk, folder, server, device):
    work = scenario(clients=4, rounds=4)
    members = [device(server.address, name, own) for name, own in own_samples(work).items()]
    victim = server(work)
    wait_until(lambda: rounds_in(folder) >= 1)
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
    assert victim.wait() == InputError.exit_code
    said = victim.said.read_text()
    assert "No space left on device" in said
    assert "make room, then go on from the last checkpoint with --resume" in said
    kept = rounds_in(folder)
    assert kept >= 1
    ballast.unlink()
    assert server(work).wait() == 0
    assert [member.wait() for member in members] == [0, 0, 0, 0]
    records_of(folder)
    assert_as_replayed(work, None, folder, lambda _: NAMES)


def test_a_small_campaign(tmp_path):
    quick = {"pause": (0.1, 0.6), "outages": (0.3, 1.0)}
    outcome = Campaign(tmp_path, faults=8, devices=3, seed=2, **quick).carry_out()
    assert outcome.problems == ()
    assert sum(outcome.faults.values()) == 8
