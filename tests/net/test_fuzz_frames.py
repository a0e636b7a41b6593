"""Malformed frames end in a refusal, never in another error and never in memory that stays."""

import gc
import os
import tracemalloc
from collections import Counter
from random import Random
from typing import Annotated, Literal

import pytest
from pydantic import Field, TypeAdapter

from tests.net.malformed import LENGTH, in_pieces, malform, taken_apart
from tiercut.documents import Document
from tiercut.net.frames import MOST_REASON, Assembler, Refused, Skip, encode, reader
from tiercut.net.tensors import TensorHeader, size, tensors_from

FRAMES = int(os.environ.get("TIERCUT_FUZZ_FRAMES", "20000"))
"""How many to try; the gate takes these, a campaign takes more."""
MOST_DUE = 64 * 1024
"""Bytes of payload that the receiver takes."""


class Batch(Document):
    kind: Literal["batch"] = "batch"
    round: int = Field(ge=0, lt=2**31)
    client: str = Field(min_length=1, max_length=63)
    loss: float | None = None
    tensors: tuple[TensorHeader, ...] = Field(max_length=16)


class Stale(Document):
    kind: Literal["stale"] = "stale"
    length: int = Field(ge=0, le=MOST_DUE)


read = reader(TypeAdapter(Annotated[Batch | Stale, Field(discriminator="kind")]))


def allowed(header):
    if isinstance(header, Stale):
        return Skip(header.length)
    due = sum(map(size, header.tensors))
    if due > MOST_DUE:
        raise Refused(f"{due:,} bytes where at most {MOST_DUE:,} may come")
    return due


def tensor(dtype, *shape):
    return TensorHeader(dtype=dtype, shape=shape)


VALUES, LABELS = tensor("float32", 4, 3, 2), tensor("int64", 4)
MASK, LEVELS, NOTHING = tensor("bool", 5), tensor("int8", 7), tensor("bfloat16", 0, 3)
HEADERS = [
    Batch(round=0, client="a", tensors=()),
    Batch(round=3, client="client-1", loss=0.25, tensors=(VALUES, LABELS)),
    Batch(round=2**31 - 1, client="é", tensors=(MASK, LEVELS, NOTHING, VALUES)),
    Stale(length=200),
    Stale(length=0),
]


def messages():
    """The frames of good messages: each in one frame, and each in several."""
    for header in HEADERS:
        due = allowed(header)
        payload = bytes(n % 2 for n in range(due.bytes if isinstance(due, Skip) else due))
        frames = list(encode(header, [payload]))
        yield from (frames, in_pieces(frames, lambda: 50))


GOOD = list(messages())


def outcome(frames):
    """What became of frames on a stream of their own; an error of any other kind fails the test."""
    assembler = Assembler(read, allowed)
    begun: list[bytes] = []
    for frame in frames:
        begun.append(frame)
        message, reason = fed(assembler, frame)
        if reason is not None:
            assert 0 < len(reason) <= MOST_REASON
            assert reason.isprintable()
            assert fed(assembler, GOOD[0][0]) == (None, reason)
            return "refused"
        if message is not None:
            expect_equal(message, begun)
            begun = []
    return "waits" if begun else "accepted"


def fed(assembler, frame):
    """The message that a frame completes, and the reason for which it is refused."""
    try:
        return assembler.feed(frame), None
    except Refused as refused:
        return None, str(refused)


def expect_equal(message, frames):
    """What comes out is what went in, read in the plainest way, and can be sent again."""
    header, payload = message
    text, sent = taken_apart(frames[0])
    sent += b"".join(frame[LENGTH:] for frame in frames[1:])
    assert header == read(text)
    if payload is None:
        assert allowed(header) == Skip(len(sent))
        return
    assert payload == sent
    again = Assembler(read, allowed)
    assert [again.feed(frame) for frame in encode(header, [payload])][-1] == message
    expect_tensors(header, payload)


def expect_tensors(header, payload):
    """A header that was accepted describes its payload; only bits that no bool has are refused."""
    try:
        tensors = tensors_from(header.tensors, payload)
    except Refused:
        assert any(tensor.dtype == "bool" for tensor in header.tensors)
    else:
        assert [t.shape for t in tensors] == [t.shape for t in header.tensors]


def campaign(frames, random):
    """The outcomes of at least so many frames."""
    outcomes = Counter()
    while frames > 0:
        malformed = malform(random.choice(GOOD), random)
        frames -= len(malformed)
        outcomes[outcome(malformed)] += 1
    return outcomes


@pytest.mark.parametrize("frames", GOOD)
def test_what_is_well_formed_is_accepted(frames):
    assert outcome(frames) == "accepted"


def test_malformed_frames_are_refused_and_leave_nothing_behind():
    random = Random(6)
    outcomes = campaign(FRAMES // 2, random)
    assert min(outcomes[o] for o in ("accepted", "waits", "refused")) > FRAMES // 200
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
    assert outcomes["refused"] > outcomes.total() / 2
