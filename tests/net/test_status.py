"""What a server tells of itself and of its devices, at every stage of a run."""

import asyncio
import io
import json

import pytest

from tests.net.instances import make_known
from tests.net.intruder import Papers
from tests.net.processes import free_port, wait_until
from tests.net.site import Running, running, scenario
from tiercut.errors import InputError, MissingError
from tiercut.net import asking
from tiercut.net.asking import ask_status
from tiercut.net.logbook import Logbook
from tiercut.net.logs import Log
from tiercut.net.streams import Insecure, new_server
from tiercut.train.folder import RunFolder
from tiercut.train.journal import read_records
from tiercut.train.observer import Everybody, Observer


@pytest.fixture
def folder(tmp_path):
    """A run's folder in which the fleet is known already, so that nobody need measure it."""
    return make_known(tmp_path / "run")


def ask(site, name="operator"):
    return asyncio.run(ask_status(site.security(name), site.address))


class Curious(Observer):
    """Asks whenever something happens, and may act on it."""

    def __init__(self, site, act=lambda number, epochs: None):
        self.site, self.act = site, act
        self.epochs, self.rounds = [], []

    def on_epoch(self, number, epochs):
        self.epochs.append(ask(self.site))
        self.act(number, epochs)

    def on_round(self, record):
        self.rounds.append(ask(self.site))


# ------------------------------------------------------------------------------- what is told


def test_a_run_is_told_from_its_first_device_to_its_last_round(folder):
    with running(scenario(4, rounds=2), joining=False) as site:
        empty = ask(site)
        site.join("client-2")
        wait_until(lambda: [d.at for d in ask(site).devices] == ["waiting"])
        (waiting,) = ask(site).devices
        for name in ("client-1", "client-3", "client-4"):
            site.join(name)
        curious = Curious(site)
        site.train(folder, resume=True, observers=[curious])
        over = ask(site)
    assert (empty.state, empty.expected, empty.devices) == ("gathering", 4, ())
    assert (waiting.joined, waiting.examples, waiting.role) == (True, 24, None)
    assert waiting.sent > 0
    assert waiting.received > 0
    assert waiting.silent >= 0
    assert (over.state, over.done, over.round, over.trained) == ("over", 2, None, 2)
    assert [one.round for one in curious.epochs] == [1, 1, 2, 2]
    for one in curious.epochs:
        assert (one.state, one.rounds, one.epochs) == ("training", 2, 2)
        assert {device.at for device in one.devices} <= {"training", "finished"}
        assert [d.role for d in one.devices] == ["aggregator", "client", "client", "aggregator"]
        assert [device.serves for device in one.devices] == [1, 0, 0, 1]
        assert {device.served_by for device in one.devices} == {None, "client-1", "client-4"}
    records = read_records(RunFolder(folder).rounds)
    assert curious.epochs[0].last is None
    assert [one.last.accuracy for one in curious.rounds] == [r.accuracy for r in records]
    assert over.last.real == records[-1].real
    assert over.bytes.server == sum(record.real.measured_bytes.server for record in records)


def test_a_run_that_goes_on_and_an_aggregator_that_dies_in_it(folder):
    def act(number, epochs):
        if (number, epochs) == (2, 1) and "client-1" in site.devices:
            site.kill("client-1")

    with running(scenario(4, rounds=1)) as site:
        site.train(folder, resume=True)
    with running(scenario(4, rounds=2)) as site:
        curious = Curious(site, act)
        site.train(folder, resume=True, observers=[curious])
        over = ask(site)
    before, after = curious.epochs[0], curious.epochs[-1]
    assert (before.round, before.done, before.trained, before.last.round) == (2, 1, 0, 1)
    assert (over.restarts, over.trained, over.losses) == (1, 1, {"gone": 1})
    assert (over.last.real.attempts, over.last.clients) == (2, 3)
    absent = after.devices[0]
    assert (absent.at, absent.joined, absent.address, absent.role) == ("absent", False, None, None)

    (training,) = site.events("training")
    assert (training["done"], training["rounds"]) == (1, 2)
    (lost,) = site.events("lost")
    assert (lost["node"], lost["round"]) == ("client-1", 2)
    (restart,) = site.events("round starts again")
    assert restart["round"] == 2
    assert "client-1 served others" in restart["reason"]
    (planned,) = site.events("planned again")
    assert (planned["round"], planned["left"], planned["joined"]) == (2, ["client-1"], [])
    (ended,) = site.events("round over")
    assert (ended["round"], ended["attempts"], ended["clients"]) == (2, 2, 3)
    assert ended["measured"]["round"] == over.last.real.measured.round


def test_warnings_are_in_the_log_as_well():
    written = io.StringIO()
    Everybody((Observer(), Logbook(Log(written)))).on_warning("the newest state is damaged")
    line = json.loads(written.getvalue())
    assert (line["event"], line["reason"]) == ("warning", "the newest state is damaged")


# -------------------------------------------------------------------------------- who may ask


def test_whoever_has_a_certificate_may_ask(tmp_path):
    papers = Papers(tmp_path / "ca", "operator", "client-1")
    with running(scenario(), joining=False, security=papers) as site:
        assert ask(site).state == ask(site, "client-1").state == "gathering"
        papers.revoke("client-1")
        own, new = (tmp_path / "ca" / part for part in ("nodes/server/crl.pem", "crl.pem"))
        own.write_bytes(new.read_bytes())
        with pytest.raises(InputError, match=r"refuses to tell its status: .* is revoked"):
            ask(site, "client-1")
        assert ask(site).refusals == {"caller": 1}
        with pytest.raises(MissingError, match="does not answer"):
            asyncio.run(ask_status(Papers(tmp_path / "other", "x")("x"), site.address))
        with pytest.raises(MissingError, match="or both --insecure"):
            asyncio.run(ask_status(Insecure("operator"), site.address))
    (refused,) = site.events("refused")
    assert refused["what"] == "caller"


def test_who_does_not_say_a_name_is_refused():
    refuses = pytest.raises(InputError, match="refuses to tell its status: a caller")
    with running(scenario(), joining=False) as site, refuses:
        ask(site, "")


def test_what_is_refused_is_counted_by_what_it_is_and_not_by_what_was_said():
    with running(scenario(), joining=False) as site:
        for name in ("server", "operator", "x" * 50):
            site.join(name, split=site.shards["client-1"])
        wait_until(lambda: ask(site).refusals.get("caller", 0) >= 4)
        for name in ("server", "operator", "x" * 50):
            site.kill(name)
        assert set(ask(site).refusals) <= {"caller", "hello", "message", "data"}


def test_a_second_server_at_the_same_address_is_refused():
    with running(scenario(), joining=False) as first:
        second = Running(scenario())
        refuses = pytest.raises(InputError, match="the address is in use")
        with refuses, second.site.open_at(first.address):
            pass
        second.thread.close()


# ---------------------------------------------------------------------------------- who answers


def test_nobody_answers():
    with pytest.raises(MissingError, match=r"does not answer: .* check that `tiercut serve`"):
        asyncio.run(ask_status(Insecure("operator"), f"127.0.0.1:{free_port()}"))


async def answered_by(handlers):
    server = new_server(handlers)
    port = Insecure("server").listen(server, "127.0.0.1:0")
    await server.start()
    try:
        return await ask_status(Insecure("operator"), f"127.0.0.1:{port}")
    finally:
        await server.stop(0)


@pytest.mark.parametrize(
    "answer", [b"", b"\xff", b"[]", b"{}", b'{"version": 2}', b'{"version": 1}', None]
)
def test_what_is_no_status_is_refused_with_a_remedy(answer):
    async def tell(context):
        await context.read()
        if answer is not None:
            await context.write(answer)

    with pytest.raises(InputError, match="install the same version of tiercut") as refused:
        asyncio.run(answered_by({"Status": tell}))
    assert "\n" not in str(refused.value)


def test_a_server_that_says_nothing_is_not_waited_for(monkeypatch):
    async def wait(context):
        await asyncio.Event().wait()

    monkeypatch.setattr(asking, "ANSWER", 0.05)
    with pytest.raises(MissingError, match=r"does not answer: nothing came within 0\.05 s"):
        asyncio.run(answered_by({"Status": wait}))


def test_a_server_of_something_else_is_refused():
    with pytest.raises(InputError, match="no server of tiercut that tells its status"):
        asyncio.run(answered_by({}))
