"""Frames: what is sent arrives whole, in whatever pieces, and all else is refused."""

import tracemalloc
from itertools import chain
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, TypeAdapter

from tests.net.malformed import LENGTH, first_frame, in_pieces
from tiercut.documents import Document
from tiercut.errors import InputError
from tiercut.net.frames import (
    MOST_HEADER,
    MOST_PAYLOAD,
    MOST_PROBLEMS,
    MOST_REASON,
    Assembler,
    Refused,
    Skip,
    encode,
    reader,
)

CONTINUED = bytes(LENGTH)
PLENTY = bytes(range(251)) * (3 * MOST_PAYLOAD // 251)
DUE_MOST = 8 * MOST_PAYLOAD


class Parcel(Document):
    kind: Literal["parcel"] = "parcel"
    length: int = Field(default=0, ge=0)
    note: str = ""
    weight: float = 0.0


class Word(Document):
    kind: Literal["word"] = "word"
    letters: tuple[int, ...] = ()


read = reader(TypeAdapter(Annotated[Parcel | Word, Field(discriminator="kind")]))


def due(header):
    if isinstance(header, Word):
        return 0
    if header.length > DUE_MOST:
        raise Refused(f"a parcel of {header.length} bytes")
    return Skip(header.length) if header.note == "stale" else header.length


def assembler():
    return Assembler(read, due)


def parcel(*pieces, note=""):
    return Parcel(length=sum(map(len, pieces)), note=note)


def first(header, payload=b""):
    return first_frame(header.model_dump_json().encode(), payload)


def received(frames):
    """The one message that the last of the frames completes."""
    assembling = assembler()
    *early, last = [assembling.feed(frame) for frame in frames]
    assert early == [None] * len(early)
    return last


def refusal(*frames):
    """Why the last of the frames is refused; those before it are not."""
    assembling = assembler()
    for frame in frames[:-1]:
        assembling.feed(frame)
    with pytest.raises(Refused) as refused:
        assembling.feed(frames[-1])
    return str(refused.value)


# ---------------------------------------------------------------- what is sent arrives

sizes = st.integers(0, 300) | st.sampled_from((MOST_PAYLOAD - 1, MOST_PAYLOAD, MOST_PAYLOAD + 1))


@given(st.lists(sizes, max_size=4), st.text())
def test_what_is_sent_arrives_whole(lengths, note):
    pieces = [memoryview(PLENTY)[:length] for length in lengths]
    header = parcel(*pieces, note=f"a note: {note}")
    frames = list(encode(header, pieces))
    found, payload = received(frames)
    assert found == header
    assert payload == b"".join(pieces)
    assert len(frames) == max(1, -(-header.length // MOST_PAYLOAD))
    assert all(len(frame) == LENGTH + MOST_PAYLOAD for frame in frames[1:-1])


@given(st.binary(max_size=400), st.data())
def test_the_payload_may_come_in_any_pieces(payload, data):
    frames = list(encode(parcel(payload), [payload]))
    cut = in_pieces(frames, lambda: data.draw(st.integers(0, 100)))
    assert received(cut) == (parcel(payload), payload)


def test_all_kinds_of_bytes_can_be_sent():
    pieces = [b"ab", bytearray(b"cd"), memoryview(b"efgh")[1:3]]
    assert received(encode(parcel(*pieces), pieces)) == (parcel(*pieces), b"abcdfg")


def test_messages_follow_one_another_on_a_stream():
    sent = [(Word(letters=(1, 2)), b""), (parcel(PLENTY), PLENTY), (parcel(b"x"), b"x")]
    assembling = assembler()
    frames = chain.from_iterable(encode(header, [payload]) for header, payload in sent)
    found = [message for message in map(assembling.feed, frames) if message is not None]
    assert found == sent


def test_what_has_arrived_may_be_written_to_and_stays_as_it_is():
    assembling = assembler()
    _, payload = assembling.feed(first(parcel(b"abc"), b"abc"))
    assembling.feed(first(parcel(b"xyz"), b"xyz"))
    assert payload == b"abc"
    payload[0] = 0
    assert payload == b"\0bc"


def test_a_frame_is_made_when_it_is_asked_for():
    piece = bytearray(2 * MOST_PAYLOAD)
    frames = encode(parcel(piece), [piece])
    assert next(frames)[-1] == 0
    piece[-1] = 7
    assert next(frames)[-1] == 7


def test_a_header_too_long_to_be_sent_is_explained_at_once():
    with pytest.raises(InputError, match=r"header has 262,195 bytes; expected at most 262,144"):
        encode(Parcel(note="x" * MOST_HEADER))


def test_a_skipped_payload_is_counted_and_not_kept():
    header = parcel(PLENTY, note="stale")
    assert received(encode(header, [PLENTY])) == (header, None)
    assert received(encode(parcel(note="stale"))) == (parcel(note="stale"), None)
    assert "3 bytes of payload where 2 were due" in refusal(
        first(parcel(b"ab", note="stale"), b"abc")
    )


# ---------------------------------------------------------------- all else is refused

HALF = first(parcel(b"abcd"), b"ab")


@pytest.mark.parametrize(
    ("frames", "reason"),
    [
        ([b""], "a frame of 0 bytes"),
        ([b"\x01\x00\x00"], "a frame of 3 bytes"),
        ([CONTINUED], "a continuation of nothing"),
        ([CONTINUED + b"x"], "a continuation of nothing"),
        ([b"\xff\xff\xff\xff{}"], "a header of 4,294,967,295 bytes"),
        ([first_frame(b" " * (MOST_HEADER + 1), b"")], "a header of 262,145 bytes"),
        ([b"\x03\x00\x00\x00{}"], "a header of 3 bytes in a frame of 6"),
        ([first(parcel(PLENTY), PLENTY[: MOST_PAYLOAD + 1])], "a frame with 1,048,577 bytes"),
        ([first(Word(), b"x")], "1 bytes of payload where 0 were due"),
        ([first(parcel(b"ab"), b"abc")], "3 bytes of payload where 2 were due"),
        ([HALF, CONTINUED + b"cde"], "3 bytes of payload where 2 were due"),
        ([HALF, CONTINUED], "a continuation without payload"),
        ([HALF, b""], "a frame of 0 bytes"),
        ([HALF, first(Word())], "a new header before the last message was complete"),
        ([HALF, CONTINUED + b"cd", CONTINUED + b"e"], "a continuation of nothing"),
        ([first(Parcel(length=10**15))], "a parcel of 1000000000000000 bytes"),
    ],
)
def test_what_must_not_come_is_refused(frames, reason):
    assert refusal(*frames).startswith(reason)


def test_the_largest_frame_is_taken():
    header = parcel(PLENTY[:MOST_PAYLOAD])
    text = header.model_dump_json().encode().ljust(MOST_HEADER)
    found, payload = received([first_frame(text, PLENTY[:MOST_PAYLOAD])])
    assert found == header
    assert payload == PLENTY[:MOST_PAYLOAD]


def test_after_a_refusal_everything_is_refused_for_the_same_reason():
    assembling = assembler()
    for frame in (CONTINUED, first(Word()), HALF, b""):
        with pytest.raises(Refused, match=r"^a continuation of nothing$"):
            assembling.feed(frame)


def test_nothing_is_allocated_for_what_is_not_allowed_or_not_wanted():
    unwanted = Assembler(read, lambda header: Skip(header.length))
    frame = first(Parcel(length=10**15), b"x")
    tracemalloc.start()
    try:
        assert unwanted.feed(frame) is None
        assert refusal(frame)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


# ---------------------------------------------------------------- headers


def why(text):
    with pytest.raises(Refused) as refused:
        read(text)
    assert refused.value.__cause__ is None
    return str(refused.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "the whole: Invalid JSON: EOF"),
        (b"[]", "the whole: Input should be an object"),
        (b"{}", "the whole: Unable to extract tag"),
        (b'{"kind":"word"} x', "the whole: Invalid JSON: trailing"),
        (b'{"kind":"letter"}', "the whole: Input tag 'letter' found"),
        (b'{"kind":"word","letter":1}', "word.letter: Extra inputs are not permitted"),
        (b'{"kind":"word","letters":[1,"2"]}', "word.letters[1]: Input should be a valid integer"),
        (b'{"kind":"word","letters":[1.0]}', "word.letters[0]: Input should be a valid integer"),
        (b'{"kind":"word","letters":[true]}', "word.letters[0]: Input should be a valid integer"),
        (b'{"kind":"parcel","length":"1"}', "parcel.length: Input should be a valid integer"),
        (b'{"kind":"parcel","length":1,"length":-1}', "parcel.length: Input should be greater"),
        (b'{"kind":"parcel","weight":NaN}', "parcel.weight: Input should be a finite number"),
        (b'{"kind":"parcel","weight":-Infinity}', "parcel.weight: Input should be a finite"),
        (b'{"kind":"parcel","weight":1e999}', "parcel.weight: Input should be a finite number"),
        (b'{"kind":"parcel","note":"\xff"}', "the whole: Invalid JSON: invalid unicode"),
        (b'{"kind":"parcel","note":"\\ud800"}', "the whole: Invalid JSON: unexpected end of hex"),
        (b'{"kind":"parcel","length":%s}' % (b"9" * 5000), "the whole: Invalid JSON: number out"),
        (b'{"kind":"word","x":' + b"[" * 100_000, "the whole: Invalid JSON: recursion limit"),
        (b'\xef\xbb\xbf{"kind":"word"}', "the whole: Invalid JSON: expected value"),
    ],
)
def test_a_wrong_header_is_explained(text, reason):
    assert why(text).startswith(f"a wrong header: {reason}")


def test_of_a_key_given_twice_the_last_counts_everywhere():
    text = b'{"kind":"parcel","length":7,"kind":"word","letters":[1],"letters":[2]}'
    assert why(text) == "a wrong header: word.length: Extra inputs are not permitted"
    text = b'{"kind":"parcel","letters":[1],"kind":"word","letters":[2]}'
    assert read(text) == Word(letters=(2,))


def test_thousands_of_problems_are_counted_and_not_listed():
    few, many = ('["x"' + ',"x"' * (count - 1) + "]" for count in (MOST_PROBLEMS, 50_000))
    assert "letters[0]" in why(b'{"kind":"word","letters":%s}' % few.encode())
    assert why(b'{"kind":"word","letters":%s}' % many.encode()) == "a wrong header: 50,000 problems"


@given(st.text())
def test_a_reason_is_short_and_printable(text):
    reason = str(Refused(text))
    assert reason.isprintable()
    assert len(reason) <= MOST_REASON
    if text.isprintable():
        assert reason == text[:MOST_REASON]


def test_what_a_peer_wrote_reaches_a_reason_cleaned():
    assert "kind: Input" not in why(b'{"kind":"\\u001b[2J\\n%s"}' % (b"x" * 1000))
    assert "'?[2J?xxx" in why(b'{"kind":"\\u001b[2J\\n%s"}' % (b"x" * 1000))
    assert "word.?a?: Extra" in why(b'{"kind":"word","\\u202ea\\u0000":1}')
