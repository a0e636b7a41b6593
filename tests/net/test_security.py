"""Who is let in, and what they may say: all else is refused with a reason, and training goes on."""

import asyncio
import io
import json
import math
import re
import socket
import struct
from collections import Counter
from contextlib import suppress
from itertools import zip_longest

import grpc
import pytest

from tests.net.instances import make_known
from tests.net.intruder import Line, Papers, Rogue, intruding
from tests.net.malformed import LENGTH, first_frame
from tests.net.processes import LONGEST, wait_until
from tests.net.replay import (
    SCHEME,
    STRONG,
    WEAK,
    After,
    During,
    assert_as_replayed,
    note_rounds,
)
from tests.net.site import running, scenario
from tests.net.test_faults import NAMES
from tiercut.errors import InputError
from tiercut.net import device, reception, streams
from tiercut.net.device import Device
from tiercut.net.door import MOST_STREAMS
from tiercut.net.frames import MOST_PAYLOAD, encode
from tiercut.net.grpc_log import hearing_grpc
from tiercut.net.logs import Log
from tiercut.net.messages import (
    PROTOCOL,
    ActivationsHeader,
    Go,
    GradientsHeader,
    Heartbeat,
    Hello,
    Probe,
    Probed,
    Stock,
    WeightsHeader,
)
from tiercut.net.streams import MOST_MESSAGE, Insecure, new_server, open_stream
from tiercut.net.tensors import TensorHeader
from tiercut.train.folder import RunFolder
from tiercut.train.journal import read_records

HELLO = Hello(protocol=PROTOCOL, version="0", address="127.0.0.1:1")
OLD_HELLO = Hello(protocol=PROTOCOL + 1, version="0", address="127.0.0.1:1")
DENIED = grpc.StatusCode.PERMISSION_DENIED


@pytest.fixture(scope="module")
def papers(tmp_path_factory):
    """A CA, with a certificate for everybody of the fleet and one more."""
    return Papers(tmp_path_factory.mktemp("papers") / "ca", *NAMES, "operator", "mallory")


@pytest.fixture
def folder(tmp_path):
    return make_known(tmp_path / "run")


@pytest.fixture
def rounds(monkeypatch):
    return note_rounds(monkeypatch)


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """Nobody waits long for one who was refused, or who says nothing."""
    monkeypatch.setattr(device, "FIRST_WAIT", 0.05)
    monkeypatch.setattr(device, "LONGEST_WAIT", 0.2)
    monkeypatch.setattr(device, "BEAT", 0.2)
    monkeypatch.setattr(reception, "GREETING", 1.0)


def lines(log):
    return [json.loads(line) for line in log.getvalue().splitlines()]


def refusals(site):
    """Whom the server and the devices have refused, and why."""
    logs = lines(site.written) + lines(site.device_log)
    return [(line["peer"], line["reason"]) for line in logs if line["event"] == "refused"]


def is_there(site, name):
    return name in site.site._reception.crew.joined()


# ------------------------------------------------------------------------ devices out of their role


def to_server(make):
    async def commit(rogue):
        header, payload = make(rogue)
        await rogue.to_server.say(header, *payload)

    return commit


def to_aggregator(make):
    async def commit(rogue):
        header, payload = make(rogue)
        await rogue.to_aggregator.say(header, *payload)

    return commit


def in_words(*messages):
    async def commit(rogue):
        await rogue.words.say(*(message(rogue) for message in messages))

    return commit


def spoilt(message, place, value):
    """A message with other bytes somewhere in its payload."""
    header, payload = message
    spoilt = bytearray(payload[place])
    spoilt[: len(value)] = value
    payload[place] = bytes(spoilt)
    return header, payload


NOT_A_NUMBER, NO_CLASS = struct.pack("<f", math.nan), struct.pack("<q", 10)
ANOTHER = 0
"""The number of a client that is not the rogue."""


def gradient(rogue):
    header, payload = rogue.batch()
    told = GradientsHeader(**rogue.tag, client=rogue.number, tensors=header.tensors[:1])
    return told, payload[:1]


def wider_layers(rogue):
    header, _ = rogue.layers()
    first = header.tensors[0].model_copy(update={"dtype": "float64"})
    return rogue.layers(tensors=(first, *header.tensors[1:]))


def spoilt_layers(rogue):
    return spoilt(rogue.layers(), 0, NOT_A_NUMBER)


def say_hello(_):
    return HELLO


async def weights_twice(rogue):
    for _ in range(2):
        header, payload = rogue.layers()
        await rogue.to_server.say(header, *payload)


async def batch_twice(rogue):
    rogue.start()
    header, payload = rogue.batch()
    await rogue.to_aggregator.say(header, *payload)


async def large_frame(rogue):
    await rogue.to_server.put(first_frame(b"{}", bytes(MOST_PAYLOAD + 1)))


async def larger_frame(rogue):
    await rogue.to_server.put(first_frame(b"{}", bytes(8 * MOST_PAYLOAD)))


async def noise(rogue):
    await rogue.to_server.put(bytes(LENGTH))


AT_SERVER = [
    # What is another's to send, or nobody's.
    (to_server(lambda r: r.batch(client=ANOTHER)), "activations of client 0, which are another's"),
    (to_server(lambda r: r.batch()), "activations of client 1, which are another's"),
    (to_server(lambda r: r.layers(clients=(ANOTHER,))), "weights of client 0 that were not asked"),
    (to_server(lambda r: r.layers(part="aggregator")), "weights of client 1 that were not asked"),
    (to_server(gradient), "a gradient for client 1 that nobody waits for"),
    (to_server(lambda _: (Probed(rate=1.0), [])), "the answer to a measurement that nobody made"),
    # What was said before, or is said too early.
    (weights_twice, "weights of client 1 that were not asked for"),
    (to_server(lambda r: r.layers(round=0, attempt=1)), "weights of round 1, in which it has no"),
    (to_server(lambda r: r.layers(round=2**40)), "in which it has no part now"),
    # What is not what it should be.
    (to_server(wider_layers), r"weights: .* float64 .* is due"),
    (to_server(spoilt_layers), "weights that are not finite"),
    (large_frame, "a frame with 1,048,577 bytes"),
    (noise, "a continuation of nothing"),
    # Words that are not for a device to say.
    (in_words(say_hello), "a second hello"),
    (in_words(lambda r: Go(**r.tag)), "a wrong header: the whole: Input tag 'go' found"),
]
AT_AGGREGATOR = [
    (to_aggregator(lambda r: r.batch(client=ANOTHER)), "activations of client 0, which are"),
    (to_aggregator(lambda r: r.layers()), "weights of client 1 that were not asked for"),
    (to_aggregator(gradient), "a gradient for client 1 that nobody waits for"),
    (batch_twice, "batch [0-9]+ of client 1 out of turn"),
    (to_aggregator(lambda r: r.batch(round=0, attempt=1)), "activations of round 1, in which it"),
    (to_aggregator(lambda r: r.batch(dtype="uint8")), r"activations: uint8 .* where float32"),
    (to_aggregator(lambda r: spoilt(r.batch(), 0, NOT_A_NUMBER)), "activations that are not fin"),
    (to_aggregator(lambda r: spoilt(r.batch(), 1, NO_CLASS)), "a label outside 0 to 9"),
]
# In turns: who was refused by all aggregators serves itself, until it has connected again.
CRIMES = [crime for pair in zip_longest(AT_SERVER, AT_AGGREGATOR) for crime in pair if crime]


def test_whoever_speaks_out_of_role_is_refused_and_left_out(papers, folder, rounds, monkeypatch):
    work = scenario(clients=4, rounds=len(CRIMES) + 1, epochs=1)
    monkeypatch.setattr(Rogue, "crimes", [crime for crime, _ in CRIMES])
    with running(work, SCHEME, security=papers, joining=False) as site:
        for name in NAMES:
            site.join(name, kind=Rogue if name == WEAK else Device)
        between = After(lambda: wait_until(lambda: is_there(site, WEAK)))
        site.train(folder, resume=True, observers=[between])
    records = read_records(RunFolder(folder).rounds)
    assert [record.lost for record in records] == [1] * len(CRIMES) + [0]
    assert [record.real.attempts for record in records] == [1] * len(records)
    found = [reason for peer, reason in refusals(site) if peer == WEAK]
    for _, expected in CRIMES:
        assert any(re.search(expected, reason) for reason in found), (expected, found)
        found.remove(next(reason for reason in found if re.search(expected, reason)))
    assert not found
    assert_as_replayed(work, rounds, absent={(n, WEAK) for n in range(len(CRIMES))})


def test_a_round_starts_again_without_an_aggregator_that_is_refused(
    papers, folder, rounds, monkeypatch
):
    crimes = [to_server(lambda r: r.batch(client=1)), to_server(spoilt_layers), in_words(say_hello)]
    monkeypatch.setattr(Rogue, "crimes", list(crimes))
    work = scenario(clients=4, rounds=len(crimes) + 1, epochs=1)
    with running(work, SCHEME, security=papers, joining=False) as site:
        for name in NAMES:
            site.join(name, kind=Rogue if name == STRONG else Device)
        between = After(lambda: wait_until(lambda: is_there(site, STRONG)))
        site.train(folder, resume=True, observers=[between])
    records = read_records(RunFolder(folder).rounds)
    assert [record.real.attempts for record in records] == [2, 2, 2, 1]
    assert [record.clients for record in records] == [3, 3, 3, 4]
    assert_as_replayed(work, rounds)


class Unmeasured(Device):
    """Says of its first link that there is none."""

    async def _probe(self, outbox, peer):
        self._probe = super()._probe


def test_a_device_without_a_measurable_link_connects_again(papers, tmp_path):
    work = scenario(clients=2, rounds=1, epochs=1)
    with running(work, SCHEME, security=papers, joining=False) as site:
        site.join("client-1", kind=Unmeasured)
        site.join("client-2")
        site.train(tmp_path / "run")
    (left,) = (line for line in site.events("left") if line["level"] == "warning")
    assert left["reason"] == "its link to the server cannot be measured"
    assert site.events("measured again")


def test_training_that_diverges_is_given_up(papers, folder):
    work = scenario(clients=4, rounds=2, rate=1e18)
    with (
        pytest.raises(InputError, match=r"training diverged.* lower rate in \[training\]"),
        running(work, SCHEME, security=papers) as site,
    ):
        site.train(folder, resume=True)
    assert not site.events("round over")


# -------------------------------------------------------------------------------------- outsiders


async def ending_of(address, security, method, frames, peer="server"):
    """How a stream ends on which these frames are sent, and nothing more."""
    async with intruding(address, security, peer) as intruder:
        line = intruder.line(method)
        with suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
            await line.put(*frames)
        return await line.ending()


def frames_of(header, *payload):
    return list(encode(header, payload))


def overheard(tag, client):
    """Messages about a round that somebody without a part in it knows of."""
    values = TensorHeader(dtype="float32", shape=(8, 16, 8, 8))
    labels = TensorHeader(dtype="int64", shape=(8,))
    batch = ActivationsHeader(**tag, client=client, step=0, tensors=(values, labels))
    layers = WeightsHeader(**tag, part="client", clients=(client,), tensors=())
    return frames_of(batch), frames_of(layers)


OUTSIDERS = {
    "of another CA": None,
    "expired": None,
    "revoked": "the certificate of former is revoked",
    "the server's name": "server is not the name of a device",
    "an operator": "operator is not the name of a device",
    "not in the roster": "mallory was not there when training started",
    "another protocol": f"it speaks protocol {PROTOCOL + 1} and this server {PROTOCOL}",
    "no hello": "a device says hello first",
    "silent": "a device that does not say hello",
    "data without a word": "data of a device that does not say hello",
    "too large for gRPC": "or sent more than 5,242,880 bytes in one piece",
    "status for the revoked": "the certificate of former is revoked",
    "no such method": None,
    "another's activations to a device": "activations of round 1, in which it has no part now",
    "another's weights to a device": "weights of round 1, in which it has no part now",
    "as the server to a device": "server is not the name of a device",
    "as an operator to a device": "operator is not the name of a device",
    "words to a device": None,
    "of another CA to a device": None,
    "revoked to a device": "the certificate of former is revoked",
    "a device under another name": None,
}
"""What a log says of them, where TLS or gRPC does not end it."""


async def intrude(site, papers, strangers):
    """How each of them fares."""
    place, mallory, hello = site.address, papers("mallory"), frames_of(HELLO)
    tag = dict(zip(("round", "attempt"), site.site._engine.rounds.attempt.tag, strict=True))
    batch, layers = overheard(tag, client=NAMES.index(WEAK))
    neighbour = site.site._reception.crew.peers[STRONG].hello.address
    too_large = [bytes(2 * MOST_MESSAGE)]
    forger, former = papers.forged(strangers(WEAK)), papers("former")
    tries = {
        "of another CA": (forger, "Control", hello),
        "expired": (papers.expired("old"), "Control", hello),
        "revoked": (former, "Control", hello),
        "the server's name": (papers("server"), "Control", hello),
        "an operator": (papers("operator"), "Control", hello),
        "not in the roster": (mallory, "Control", hello),
        "another protocol": (mallory, "Control", frames_of(OLD_HELLO)),
        "no hello": (mallory, "Control", frames_of(Heartbeat())),
        "silent": (mallory, "Control", []),
        "data without a word": (mallory, "Data", batch),
        "too large for gRPC": (mallory, "Control", too_large),
        "status for the revoked": (former, "Status", [b"?"]),
        "no such method": (mallory, "Weights", [b"?"]),
    }
    there = {what: await ending_of(place, *words) for what, words in tries.items()}
    tries = {
        "another's activations to a device": (mallory, "Data", batch),
        "another's weights to a device": (mallory, "Data", layers),
        "as the server to a device": (papers("server"), "Data", layers),
        "as an operator to a device": (papers("operator"), "Data", layers),
        "words to a device": (mallory, "Control", frames_of(Go(**tag))),
        "of another CA to a device": (forger, "Data", batch),
        "revoked to a device": (former, "Data", batch),
    }
    here = {what: await ending_of(neighbour, *words, STRONG) for what, words in tries.items()}
    wrong = await ending_of(neighbour, mallory, "Data", batch, WEAK)
    return there | here | {"a device under another name": wrong}


def test_outsiders_are_refused_while_others_train(papers, folder, rounds, tmp_path):
    strangers = Papers(tmp_path / "strangers", WEAK)
    papers.issue("former")
    papers.revoke("former")
    work, endings, heard = scenario(clients=4, rounds=2), {}, io.StringIO()
    with hearing_grpc(Log(heard)), running(work, SCHEME, security=papers) as site:
        act = During(lambda: endings.update(site.thread.run(intrude(site, papers, strangers))))
        site.train(folder, resume=True, observers=[act])
    assert endings.keys() == OUTSIDERS.keys()
    found = [reason for _, reason in refusals(site)]
    for expected in filter(None, OUTSIDERS.values()):
        found.remove(next(reason for reason in found if expected in reason))
    assert not found
    # What TLS refuses is said by gRPC itself.
    failed = [
        entry["reason"]
        for entry in map(json.loads, heard.getvalue().splitlines())
        if entry["event"] == "handshake failed"
    ]
    assert failed.count("CERTIFICATE_VERIFY_FAILED: unable to get local issuer certificate") >= 2
    assert "CERTIFICATE_VERIFY_FAILED: certificate has expired" in failed
    assert [record.real.attempts for record in read_records(RunFolder(folder).rounds)] == [1, 1]
    assert_as_replayed(work, rounds)


def test_a_certificate_that_is_taken_back_during_a_run_is_refused(tmp_path, folder, rounds):
    papers = Papers(tmp_path / "ca", *NAMES)
    work = scenario(clients=4, rounds=3)

    def take_back():
        if len(rounds) == 1:
            papers.revoke(WEAK)
            wait_until(lambda: not is_there(site, WEAK))

    with running(work, SCHEME, security=papers) as site:
        site.train(folder, resume=True, observers=[After(take_back)])
        site.kill(WEAK)  # it knocks on, and is not let in
    reasons = {reason for peer, reason in refusals(site) if peer == WEAK}
    assert reasons == {f"the certificate of {WEAK} is revoked"}
    assert [record.clients for record in read_records(RunFolder(folder).rounds)] == [4, 3, 3]
    assert_as_replayed(work, rounds)


def test_devices_turn_away_a_caller_whose_certificate_is_taken_back(tmp_path):
    papers = Papers(tmp_path / "ca", *NAMES, "former")
    with running(scenario(clients=4), SCHEME, security=papers) as site:
        wait_until(lambda: all(is_there(site, name) for name in NAMES))
        address = site.site._reception.crew.peers[STRONG].hello.address

        async def call():
            async with intruding(address, papers("former"), STRONG) as intruder:
                line = intruder.line("Data")
                await line.say(Probe(bytes=1, left=0), b"x")
                assert (await line.hear())["kind"] == "probed"
                papers.revoke("former")
                return await line.ending()

        assert site.thread.run(call()) == (DENIED, "the certificate of former is revoked")
    assert ("former", "the certificate of former is revoked") in refusals(site)


def test_one_device_opens_few_streams(papers):
    with running(scenario(clients=4), SCHEME, security=papers, joining=False) as site:

        async def crowd():
            async with intruding(site.address, papers("mallory")) as intruder:
                lines = [intruder.line("Control") for _ in range(MOST_STREAMS + 4)]
                return [await line.ending() for line in lines]

        endings = Counter(details for _, details in site.thread.run(crowd()))
    assert endings == {
        "a device that does not say hello": MOST_STREAMS,
        f"more than {MOST_STREAMS} streams of one device": 4,
    }


def test_a_device_has_one_stream_of_data(papers):
    with running(scenario(clients=4), SCHEME, security=papers, joining=False) as site:

        async def open_two():
            async with intruding(site.address, papers("mallory")) as intruder:
                control, data = await intruder.join()
                await data.say(Probe(bytes=1, left=0), b"x")
                assert (await data.hear())["kind"] == "probed"
                second = await intruder.line("Data").ending()
                await control.say(Stock(examples=10))  # the first goes on
                await data.say(Probe(bytes=1, left=0), b"x")
                return second, await data.hear()

        second, answer = site.thread.run(open_two())
    assert second == (DENIED, "a second stream of data")
    assert answer["kind"] == "probed"


def test_who_asks_and_does_not_listen_is_refused(papers):
    probe = first_frame(Probe(bytes=1, left=0).model_dump_json().encode(), b"x")
    with running(scenario(clients=4), SCHEME, security=papers, joining=False) as site:

        async def ask():
            async with intruding(site.address, papers("mallory"), ahead=64) as intruder:
                _, data = await intruder.join()
                with suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
                    for _ in range(200):
                        await data.put(probe)
                await data.ending()

        site.thread.run(ask())
    assert ("mallory", "measurements whose answers nobody reads") in refusals(site)


def test_connections_that_say_nothing_are_ended(papers, monkeypatch):
    kept = [option for option in streams._OPTIONS if "handshake" not in option[0]]
    monkeypatch.setattr(streams, "_OPTIONS", (*kept, ("grpc.server_handshake_timeout_ms", 500)))
    with running(scenario(clients=4), SCHEME, security=papers, joining=False) as site:
        host, port = site.address.split(":")
        silent = [socket.create_connection((host, int(port))) for _ in range(200)]
        for one in silent:
            one.settimeout(LONGEST)
            with one, suppress(ConnectionResetError):
                while one.recv(1000):
                    pass


# ----------------------------------------------------------------------------- without certificates


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", "10.0.0.5:7600", ":0", "unix:/tmp/x"])
def test_without_certificates_nothing_leaves_this_machine(address):
    with pytest.raises(InputError, match="--insecure is for one machine alone"):
        Insecure("a").channel(address, "server")

    async def listen():
        Insecure("a").listen(new_server({}), address)

    with pytest.raises(InputError, match="--insecure is for one machine alone"):
        asyncio.run(listen())


def test_a_name_that_is_none_is_refused():
    with running(scenario(clients=4), joining=False) as site:

        async def call(name):
            channel = Insecure("a").channel(site.address, "server")
            code, details = await Line(open_stream(channel, "Control", name)).ending()
            await channel.close()
            return code, details

        for name in ("../x", "a b", "x" * 64, "-"):
            assert site.thread.run(call(name)) == (DENIED, "a caller whose name is none of a node")
        assert site.thread.run(call("server"))[1] == "server is not the name of a device"
