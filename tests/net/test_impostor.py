"""A server that means no good: devices refuse what it says, and go on looking for a better one."""

import asyncio
import io
import json
import math

import pytest
import torch

from tests.net.intruder import Impostor, Papers
from tests.net.malformed import first_frame
from tests.net.site import scenario, shards_of
from tiercut.data import load
from tiercut.engines.common import CommonModel
from tiercut.errors import InputError
from tiercut.net import device
from tiercut.net.device import Device, Place
from tiercut.net.frames import MOST_HEADER, MOST_PAYLOAD, Refused
from tiercut.net.job import make_job, make_task
from tiercut.net.letters import DTYPE, named_tensors
from tiercut.net.logs import Log
from tiercut.net.messages import (
    ActivationsHeader,
    Begin,
    Go,
    GradientsHeader,
    Heartbeat,
    Lost,
    MeasureLink,
    MeasureSelf,
    Member,
    NamedTensor,
    Probed,
    WeightsHeader,
    Welcome,
)
from tiercut.net.shift import make_shift
from tiercut.net.tensors import TensorHeader, payload_of
from tiercut.train.setting import find_method

NAME = "client-1"
WORK = scenario()
DATA = load(WORK.data, None)
OWN = shards_of(WORK, DATA)[NAME]
JOB = make_job(WORK, find_method(WORK, "aa-hsfl-ll")[0], DATA)
TAG = {"round": 0, "attempt": 1}
MEMBER = Member(
    client=0,
    name=NAME,
    examples=len(OWN),
    first_step=0,
    attends=JOB.epochs,
    aggregator_layer=1,
    cut_layer=2,
)
OTHER = MEMBER.model_copy(update={"client": 1, "name": "client-2"})
BEGIN = Begin(
    **TAG,
    own=MEMBER,
    aggregator=0,
    aggregator_name=NAME,
    aggregator_address="127.0.0.1:1",
    members=(MEMBER,),
    taking_part=(0, 1),
)


def changed(value, **changes):
    return value.model_copy(update=changes)


@pytest.fixture(scope="module")
def papers(tmp_path_factory):
    return Papers(tmp_path_factory.mktemp("papers") / "ca", NAME)


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """Devices knock again at once."""
    monkeypatch.setattr(device, "FIRST_WAIT", 0.01)
    monkeypatch.setattr(device, "LONGEST_WAIT", 0.02)


def fool(papers, acts, **own_code):
    """Let a device join an impostor until it says goodbye; why the device has left it before."""
    written = io.StringIO()

    async def run():
        async with Impostor(papers("server"), acts).open() as address:
            place = Place(address, "127.0.0.1:0")
            fooled = Device(papers(NAME), place, lambda *_: OWN, Log(written), **own_code)
            await asyncio.wait_for(fooled.run(), 60)

    asyncio.run(run())
    logged = [json.loads(line) for line in written.getvalue().splitlines()]
    return [line["reason"] for line in logged if line["event"] == "server lost"]


# ------------------------------------------------------------------------------------- what it does


def words(*messages):
    """Say something before there is a job."""

    async def act(control, _):
        for message in messages:
            await control.say(message)

    return act


def raw(*frames):
    async def act(control, _):
        await control.put(*frames)

    return act


def employed(act):
    """Do something after a device has taken a job."""

    async def employ(control, data):
        await control.say(Welcome(job=JOB))
        while (await control.hear())["kind"] != "stock":
            pass
        await act(control, data)

    return employ


def orders(*messages):
    return employed(words(*messages))


def tensors(*messages, begin=BEGIN):
    """Begin a round and send what is not due in it."""

    async def act(control, data):
        await control.say(begin)
        for header, *payload in messages:
            await data.say(header, *payload)

    return employed(act)


def due():
    """The layers that a device waits for, by part."""
    task = make_task(JOB, NAME, lambda *_: OWN)
    common = CommonModel(task, DTYPE)
    shift = make_shift(BEGIN, task, common)
    return {
        "client": common.start_of(shift.own).layers,
        "aggregator": common.start_of(shift.served).layers,
    }


LAYERS = due()


def weights(part="client", clients=(0,), spoil=bool):
    layers = {n: {k: v.clone() for k, v in own.items()} for n, own in LAYERS[part].items()}
    spoil(layers)
    header = WeightsHeader(**TAG, part=part, clients=clients, tensors=named_tensors(layers))
    flat = [tensor for own in layers.values() for tensor in own.values()]
    return header, *payload_of(flat)


def first_not_finite(layers):
    next(iter(next(iter(layers.values())).values())).view(-1)[0] = math.inf


def first_wider(layers):
    first = next(iter(layers.values()))
    key = next(iter(first))
    first[key] = first[key].to(torch.float64)


VALUES = TensorHeader(dtype="float32", shape=(8, 16, 8, 8))
BATCH = ActivationsHeader(**TAG, client=0, step=0, tensors=(VALUES, VALUES))
SO_MANY = first_frame(changed(BEGIN, members=(OTHER,) * 5_000).model_dump_json().encode(), b"")
GIANT = (
    b'{"kind":"weights","round":0,"attempt":1,"part":"client","clients":[0],"tensors":'
    b'[{"dtype":"float32","shape":[4294967296,4294967296],"layer":"x","key":"y"}]}'
)
HUGE = WeightsHeader(
    **TAG,
    part="client",
    clients=(0,),
    tensors=(NamedTensor(dtype="float32", shape=(2**30,), layer="x", key="y"),) * 500,
)


async def measure_twice(control, _):
    wish = MeasureLink(peer="client-2", address="127.0.0.1:1")
    await control.say(wish)
    await control.say(wish)


async def giant(control, data):
    await control.say(BEGIN)
    await data.put(first_frame(GIANT, b""))


async def early_and_wrong(control, data):
    """Data of a round that never begins: the device waits for it, and hears what is said else."""
    header, *payload = weights()
    await data.say(changed(header, attempt=2**60), *payload)
    await control.say(Heartbeat())


ACTS = [
    (words(BEGIN), "the server asks for work before it has given a job"),
    (words(MeasureSelf()), "the server asks for work before it has given a job"),
    (raw(b"abc"), "a frame of 3 bytes"),
    (raw(b"\xff" * 100), "a header of 4,294,967,295 bytes"),
    (raw(first_frame(b"{}", bytes(MOST_PAYLOAD + 1))), "a frame with 1,048,577 bytes of payload"),
    (raw(first_frame(Heartbeat().model_dump_json().encode(), b"")), "a wrong header: the whole"),
    (raw(first_frame(MeasureSelf().model_dump_json().encode(), b"x")), "1 bytes of payload where"),
    (words(Welcome(job=changed(JOB, classes=2**31))), "a wrong header: welcome.job.classes"),
    (words(Welcome(job=changed(JOB, mean=(0.0, 0.0)))), "a job whose samples are"),
    (orders(changed(BEGIN, own=OTHER)), "a round for a device of another name or with other data"),
    (orders(changed(BEGIN, aggregator=1)), "a round in which two devices share a name"),
    (orders(changed(BEGIN, members=(MEMBER, MEMBER))), "a round in which a device is served twice"),
    (orders(changed(BEGIN, members=(OTHER,))), "a round in which it is unclear who serves this"),
    (orders(changed(BEGIN, taking_part=(1,))), "a round in which somebody is served who takes no"),
    (orders(changed(BEGIN, aggregator_address="unix:/x")), "a wrong header: begin.aggregator_addr"),
    (employed(raw(SO_MANY)), f"a header of {len(SO_MANY) - 4:,} bytes"),
    (orders(Lost(**TAG, client=0), BEGIN, Lost(**TAG, client=9)), "the server has lost a client"),
    (employed(measure_twice), "the server asks for a second measurement before the first"),
    (tensors(weights(spoil=first_not_finite)), "weights that are not finite"),
    (tensors(weights(spoil=first_wider)), "weights: conv1.0.weight float64"),
    (tensors(weights(clients=(1,))), "weights of client 1 that were not asked for"),
    (tensors((changed(weights("aggregator")[0], part="client"),)), "weights: "),
    (tensors(weights(), weights()), "weights of client 0 that were not asked for"),
    (tensors((HUGE,)), "weights: 500 tensors where 2 are due"),
    (tensors((BATCH,)), "activations of client 0, which are another's to send"),
    (tensors((GradientsHeader(**TAG, client=0, tensors=(VALUES,)),)), "a gradient for client 0"),
    (tensors((Probed(rate=1.0),)), "the answer to a measurement that nobody made"),
    (employed(giant), "a wrong header: weights.tensors[0]"),
    (employed(early_and_wrong), "a wrong header: the whole: Input tag 'heartbeat' found"),
]

MEMBERS = [
    ({"aggregator_layer": 2**30, "cut_layer": 2**30}, "a cut of client-1 after layers"),
    ({"aggregator_layer": 2, "cut_layer": 1}, "a cut of client-1 after layers 2 and 1 of"),
    ({"attends": 10**15}, "1000000000000000 epochs of client-1 where there are 2"),
    ({"examples": 10**15}, "a round for a device of another name or with other data"),
    ({"name": "client-9"}, "a round in which two devices share a name or a number"),
]


def with_member(changes):
    own = changed(MEMBER, **changes)
    return orders(changed(BEGIN, own=own, members=(own,)))


ACTS += [(with_member(changes), expected) for changes, expected in MEMBERS]
ACTS.append(
    (
        orders(changed(BEGIN, members=(MEMBER, changed(OTHER, examples=10**15)))),
        "a round of more than 10,000,000 batches in an epoch",
    )
)


def test_a_device_leaves_a_server_that_says_what_it_must_not(papers):
    assert len(SO_MANY) > MOST_HEADER
    reasons = fool(papers, [act for act, _ in ACTS])
    for reason, (_, expected) in zip(reasons, ACTS, strict=True):
        assert reason.startswith(expected)


def test_a_round_that_starts_twice_is_left(papers):
    async def act(control, data):
        await control.say(BEGIN)
        for part in ("client", "aggregator"):
            header, *payload = weights(part)
            await data.say(header, *payload)
        while (await control.hear())["kind"] != "ready":
            pass
        await control.say(Go(**TAG))
        await control.say(Go(**TAG))

    assert fool(papers, [employed(act)]) == ["the server starts a round twice"]


@pytest.mark.parametrize("what", ["model", "scheme"])
def test_no_code_runs_because_a_server_names_it(papers, what, tmp_path, monkeypatch):
    (tmp_path / "trap.py").write_text("raise SystemExit('caught')\n")
    monkeypatch.chdir(tmp_path)
    job = changed(JOB, **{what: "trap:spring"})
    with pytest.raises(InputError, match=f"join with --{what} trap:spring if you have it"):
        fool(papers, [words(Welcome(job=job))])
    with pytest.raises(InputError, match="trap:spring"):
        fool(papers, [words(Welcome(job=job))], **{what: "trap:other"})


def test_somebody_with_fewer_examples_than_portions_is_refused():
    task = make_task(changed(JOB, portions=2), NAME, lambda *_: OWN)
    begin = changed(BEGIN, members=(MEMBER, changed(OTHER, examples=1)))
    with pytest.raises(Refused, match="client-2 with 1 examples in 2 portions"):
        make_shift(begin, task, CommonModel(task, DTYPE))
