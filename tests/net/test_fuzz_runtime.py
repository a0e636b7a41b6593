"""Malformed messages of every kind, to the parsers and to what runs: no crash, and no growth."""

import asyncio
import gc
import io
import os
import tracemalloc
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random
from traceback import extract_tb
from typing import get_args

import grpc
import pytest

from tests.net.instances import make_known
from tests.net.intruder import Impostor, Papers, Rogue, intruding
from tests.net.malformed import malform
from tests.net.processes import wait_until
from tests.net.replay import SCHEME, WEAK, After, assert_as_replayed, note_rounds
from tests.net.site import running, scenario
from tests.net.test_faults import NAMES
from tests.net.test_impostor import BEGIN, JOB, NAME, OWN, TAG, employed, weights
from tiercut.engines.schedule import Turn
from tiercut.net import device, messages
from tiercut.net.device import Device, Place
from tiercut.net.due import AccessList, Due, Flow
from tiercut.net.frames import Assembler, Refused, encode
from tiercut.net.letters import check_labels, read_letter
from tiercut.net.logs import Log
from tiercut.net.messages import read_data, read_from_node, read_from_server
from tiercut.net.streams import no_payload
from tiercut.net.tensors import TensorHeader, size
from tiercut.train.folder import RunFolder
from tiercut.train.journal import read_records

FRAMES = int(os.environ.get("TIERCUT_FUZZ_FRAMES", "10000"))
"""How many to try on the parsers; the gate takes these, a campaign takes more."""
STREAMS = int(os.environ.get("TIERCUT_FUZZ_STREAMS", "90"))
"""On how many streams to try them where something runs."""
MOST_GROWTH = 48 * 2**20
"""Bytes that a process may have more after all that."""

ATTEMPT = (TAG["round"], TAG["attempt"])
TURN = Turn("a", 12, (8, 4), 0, 2)
SHAPE = (3, 2)
VALUES, LABELS = (
    TensorHeader(dtype="float32", shape=(8, *SHAPE)),
    TensorHeader(dtype="int64", shape=(8,)),
)
LAYERS, *LAYER_BYTES = weights()

FROM_NODE = [
    messages.Hello(protocol=messages.PROTOCOL, version="1.0", address="127.0.0.1:7601"),
    messages.Stock(examples=24),
    messages.Capacity(throughput=1e9),
    messages.LinkRate(peer="client-2", rate=1e6),
    messages.LinkRate(peer="client-2", rate=None),
    messages.Heartbeat(),
    messages.Ready(**TAG),
    messages.Cut(**TAG, peer="client-2", reason="it is gone"),
    messages.Finished(**TAG, loss=0.5, sent={"activations client aggregator": 10**6}),
]
FROM_SERVER = [
    messages.Welcome(job=JOB),
    messages.MeasureSelf(),
    messages.MeasureLink(peer="client-2", address="127.0.0.1:7601"),
    BEGIN,
    messages.Go(**TAG),
    messages.Lost(**TAG, client=1),
    messages.Abort(**TAG, reason="the round starts again"),
    messages.Bye(reason="training is over"),
]
DATA = [
    messages.ActivationsHeader(**TAG, client=0, step=0, tensors=(VALUES, LABELS)),
    messages.GradientsHeader(**TAG, client=0, tensors=(VALUES,)),
    LAYERS,
    messages.Probe(bytes=100, left=0),
    messages.Probed(rate=1e6),
]


def frames_of(header):
    """A good message; its payload is zeros, which are right for everything."""
    if isinstance(header, messages.Probe):
        return list(encode(header, [bytes(header.bytes)]))
    return list(encode(header, [bytes(size(one)) for one in getattr(header, "tensors", ())]))


GOOD = {
    "from a node": [frames_of(header) for header in FROM_NODE],
    "from the server": [frames_of(header) for header in FROM_SERVER],
    "data": [frames_of(header) for header in DATA],
}


@pytest.mark.parametrize(
    ("known", "tried"),
    [
        (messages.FromNode, FROM_NODE),
        (messages.FromServer, FROM_SERVER),
        (messages.Data, DATA),
    ],
)
def test_no_kind_of_message_is_left_out(known, tried):
    assert set(get_args(known)) == {type(header) for header in tried}


# -------------------------------------------------------------------------------------- the parsers


def access_list():
    """Everything in DATA is due."""
    due = Due(flows={0: Flow(TURN, SHAPE, "fp32")}, weights={"client": {0: LAYERS.tensors}})
    due.expect(0, (VALUES,))
    listed = AccessList()
    listed.begin(ATTEMPT, {"a": due})
    return listed


def data_assembler():
    listed = access_list()

    def allowed(header):
        if isinstance(header, messages.Probe):
            return header.bytes
        if isinstance(header, messages.Probed):
            return 0
        return listed.allowed("a", header, listed)

    return Assembler(read_data, allowed)


ASSEMBLERS = {
    "from a node": lambda: Assembler(read_from_node, no_payload),
    "from the server": lambda: Assembler(read_from_server, no_payload),
    "data": data_assembler,
}


def outcome(kind, frames):
    """What became of frames; an error of another kind than a refusal fails the test."""
    assembler, whole = ASSEMBLERS[kind](), None
    try:
        for frame in frames:
            whole = assembler.feed(frame)
            if whole is not None and isinstance(whole[0], messages.Tagged) and kind == "data":
                use(*whole)
    except Refused:
        return "refused"
    return "waits" if whole is None else "accepted"


def use(header, payload):
    """Go on with what is due as a node would."""
    message = read_letter(header, payload, "fp32")
    if isinstance(header, messages.ActivationsHeader):
        check_labels(message.labels, classes=10)


def campaign(frames, random):
    """The outcomes of at least so many frames, by kind."""
    outcomes = Counter()
    while frames > 0:
        kind = random.choice(list(GOOD))
        malformed = malform(random.choice(GOOD[kind]), random)
        frames -= len(malformed)
        outcomes[kind, outcome(kind, malformed)] += 1
    return outcomes


@pytest.mark.parametrize("kind", GOOD)
def test_what_is_well_formed_is_accepted(kind):
    assert [outcome(kind, frames) for frames in GOOD[kind]] == ["accepted"] * len(GOOD[kind])


def test_malformed_messages_are_refused_and_leave_nothing_behind():
    random = Random(7)
    outcomes = campaign(FRAMES // 2, random)
    gc.collect()
    tracemalloc.start()
    try:
        outcomes += campaign(FRAMES // 2, random)
        gc.collect()
        left, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert left < 64 * 1024
    assert most < 8 * 1024 * 1024
    for kind in GOOD:
        assert outcomes[kind, "refused"] > 0.15 * outcomes.total()
        assert outcomes[kind, "accepted"] > 0


# ---------------------------------------------------------------------------------- what is running


@pytest.fixture(scope="module")
def papers(tmp_path_factory):
    return Papers(tmp_path_factory.mktemp("papers") / "ca", *NAMES, "mallory")


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """Nobody waits long before it knocks again."""
    monkeypatch.setattr(device, "FIRST_WAIT", 0.01)
    monkeypatch.setattr(device, "LONGEST_WAIT", 0.02)


def resident():
    """Bytes of this process that are in memory."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def escaped(caplog):
    """What our code let out of a stream, by gRPC's word; that it ends some itself is no error.

    Nor is that it fails to, where the peer has gone already.
    """
    failed = [r for r in caplog.records if "grpc" in r.name and r.levelname == "ERROR"]
    problems = [r.exc_info[1] for r in failed if r.exc_info]
    return [
        problem
        for problem in problems
        if not isinstance(problem, asyncio.CancelledError)
        and any("tiercut/net/" in frame.filename for frame in extract_tb(problem.__traceback__))
    ]


async def babble(line, before, kind, random):
    """Say something on a stream, then something malformed, and wait until it ends."""
    with suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
        await line.put(*before, *malform(random.choice(GOOD[kind]), random))
        await line.finish()
    await line.ending()


async def pester_server(address, security, random, count):
    """Babble on streams of every kind, as who has said hello and as who has not."""
    hello = GOOD["from a node"][0]
    async with intruding(address, security) as intruder:
        for _ in range(count):
            way = random.randrange(4)
            if way == 0:
                _, data = await intruder.join()
                await babble(data, [], "data", random)
            elif way == 1:
                await babble(intruder.line("Status"), [], "data", random)
            else:
                before = hello if way == 2 else []
                await babble(intruder.line("Control"), before, "from a node", random)


async def pester_device(address, security, name, random, count):
    async with intruding(address, security, name) as intruder:
        for _ in range(count):
            await babble(intruder.line("Data"), [], "data", random)


def test_a_server_and_a_device_outlast_malformed_frames(papers, tmp_path, monkeypatch, caplog):
    rounds, random = note_rounds(monkeypatch), Random(8)
    work, folder = scenario(clients=4, rounds=2), make_known(tmp_path / "run")
    with running(work, SCHEME, security=papers) as site:
        wait_until(lambda: set(NAMES) <= set(site.site._reception.crew.joined()))
        neighbour = site.site._reception.crew.peers[WEAK].hello.address

        async def pester(count):
            await pester_server(site.address, papers("mallory"), random, count)
            await pester_device(neighbour, papers("mallory"), WEAK, random, count)

        site.thread.run(pester(STREAMS // 3))  # what is made once is made now
        before = resident()
        site.thread.run(pester(STREAMS))
        assert resident() - before < MOST_GROWTH
        site.train(folder, resume=True)
    assert "refused" in site.written.getvalue()
    assert "refused" in site.device_log.getvalue()
    assert not escaped(caplog)
    assert_as_replayed(work, rounds)


def test_a_round_outlasts_malformed_frames(papers, tmp_path, monkeypatch, caplog):
    rounds, random = note_rounds(monkeypatch), Random(9)
    folder = make_known(tmp_path / "run")

    async def say(line, header, payload=()):
        with suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
            await line.put(*malform(list(encode(header, payload)), random), b"")

    async def to_server(rogue):
        await say(rogue.to_server, *random.choice((rogue.layers, rogue.batch))())

    async def to_aggregator(rogue):
        await say(rogue.to_aggregator, *rogue.batch())

    async def in_words(rogue):
        await say(rogue.words, random.choice(FROM_NODE[6:]).model_copy(update=rogue.tag))

    crimes = [to_server, to_aggregator, in_words] * 3
    work = scenario(clients=4, rounds=len(crimes), epochs=1)
    monkeypatch.setattr(Rogue, "crimes", list(crimes))
    with running(work, SCHEME, security=papers, joining=False) as site:
        for name in NAMES:
            site.join(name, kind=Rogue if name == WEAK else Device)
        crew = site.site._reception.crew
        back = After(lambda: wait_until(lambda: WEAK in crew.joined()))
        site.train(folder, resume=True, observers=[back])
    assert [record.lost for record in read_records(RunFolder(folder).rounds)] == [1] * len(crimes)
    assert not escaped(caplog)
    assert_as_replayed(work, rounds, {(n, WEAK) for n in range(len(crimes))})


def test_a_device_outlasts_a_server_that_sends_malformed_frames(papers):
    random, written = Random(10), io.StringIO()

    async def babble_back(control, data):
        with suppress(grpc.aio.UsageError, asyncio.CancelledError):
            line, kind = random.choice(((control, "from the server"), (data, "data")))
            good = [frames for frames in GOOD[kind] if frames != frames_of(FROM_SERVER[-1])]
            await line.put(*malform(random.choice(good), random))
            await control.put(b"")  # if it was harmless

    async def begin(control, data):
        await control.say(BEGIN)
        await babble_back(control, data)

    async def run():
        ways = (babble_back, employed(babble_back), employed(begin))
        acts = [random.choice(ways) for _ in range(STREAMS)]
        async with Impostor(papers("server"), acts).open() as address:
            place = Place(address, "127.0.0.1:0")
            fooled = Device(papers(NAME), place, lambda *_: OWN, Log(written))
            before = resident()
            await asyncio.wait_for(fooled.run(), 600)
            assert resident() - before < MOST_GROWTH

    asyncio.run(run())
    assert written.getvalue().count("server lost") >= STREAMS
