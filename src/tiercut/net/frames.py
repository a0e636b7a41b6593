"""Messages as frames on a stream: a checked header, then raw bytes in pieces of a mebibyte.

The first frame of a message is the length of its header (four bytes, little-endian), the header as
JSON, and the first bytes of the payload. Every further frame is four zero bytes and more of the
payload, until as much has come as is due for the header. Nothing else comes in between.

Whoever reads frames believes nothing: a header is checked before room is made for its payload, and
what a peer wrote reaches a log only short and printable.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import Generic, TypeVar

import numpy as np
from pydantic import TypeAdapter, ValidationError

from tiercut.documents import Document, show_key
from tiercut.errors import InputError

MOST_HEADER = 256 * 1024
"""Bytes of a header; a round's roster of some hundred clients must fit."""
MOST_PAYLOAD = 1024 * 1024
"""Bytes of payload in one frame."""
MOST_REASON = 200
"""Characters of a reason; what a peer wrote may be part of it."""
MOST_PROBLEMS = 100
"""Of a header; a list of more than these is not made, for it could take 100 times the room."""

_LENGTH = Struct("<I")
_CONTINUED = _LENGTH.pack(0)

H = TypeVar("H")
Piece = bytes | bytearray | memoryview
"""Bytes of a payload; a view is one of single bytes, as `tensors.payload_of` gives them."""


def printable(reason: str) -> str:
    """Words of anybody's, short enough for a log and without what a terminal would act upon."""
    return "".join(c if c.isprintable() else "?" for c in reason[:MOST_REASON])


class Refused(Exception):
    """A peer sent what it must not send; the reason is fit for a log."""

    def __init__(self, reason: str) -> None:
        super().__init__(printable(reason))


class Later(Exception):
    """A message that is due soon: its frame may be fed again when `time` has come."""

    def __init__(self, time: asyncio.Event) -> None:
        super().__init__("not yet")
        self.time = time


@dataclass(frozen=True)
class Skip:
    """So many bytes are due, and nobody wants them: they are counted and dropped."""

    bytes: int


def reader(headers: TypeAdapter[H]) -> Callable[[bytes], H]:
    """A function that reads a header of these kinds, and refuses everything else.

    Nesting beyond 200, numbers of thousands of digits, bytes that are not UTF-8 and halves of
    surrogate pairs are no JSON to pydantic. Of a key given twice the last counts, for it alone.
    """

    def read(text: bytes) -> H:
        try:
            return headers.validate_json(text)
        except ValidationError as invalid:
            raise Refused(f"a wrong header: {_first_problem(invalid)}") from None

    return read


def _first_problem(invalid: ValidationError) -> str:
    if invalid.error_count() > MOST_PROBLEMS:
        return f"{invalid.error_count():,} problems"
    first = invalid.errors(include_url=False, include_context=False, include_input=False)[0]
    return f"{show_key(first['loc']) or 'the whole'}: {first['msg']}"


# ---------------------------------------------------------------------------------------- sending


def encode(header: Document, payload: Sequence[Piece] = ()) -> Iterator[bytes]:
    """The frames of a message; each is made when it is asked for, with one copy of its bytes."""
    text = header.model_dump_json().encode()
    if len(text) > MOST_HEADER:
        raise InputError(
            f"a message's header has {len(text):,} bytes; expected at most {MOST_HEADER:,}: use"
            " fewer clients or shorter names"
        )
    return _frames(_LENGTH.pack(len(text)) + text, payload)


def _frames(start: bytes, payload: Sequence[Piece]) -> Iterator[bytes]:
    frame: list[Piece] = [start]
    room = MOST_PAYLOAD
    for piece in payload:
        rest = memoryview(piece)
        while len(rest) > room:
            yield b"".join((*frame, rest[:room]))
            rest = rest[room:]
            frame, room = [_CONTINUED], MOST_PAYLOAD
        frame.append(rest)
        room -= len(rest)
    yield b"".join(frame)


# -------------------------------------------------------------------------------------- receiving


@dataclass
class _Unfinished(Generic[H]):
    """A message of which `missing` bytes have not come; without room, they are not wanted."""

    header: H
    missing: int
    room: memoryview | None


class Assembler(Generic[H]):
    """Makes messages of one stream's frames; after the first refusal it refuses everything.

    `parse` reads a header (see `reader`). `allowed` says how many bytes of payload are due for it,
    before anything is allocated; it may refuse the header, or skip the payload.
    """

    def __init__(self, parse: Callable[[bytes], H], allowed: Callable[[H], int | Skip]) -> None:
        self._parse, self._allowed = parse, allowed
        self._message: _Unfinished[H] | None = None
        self._refusal: str | None = None

    def feed(self, frame: bytes) -> tuple[H, memoryview | None] | None:
        """The message that this frame completes; its payload is None where it was skipped."""
        if self._refusal is not None:
            raise Refused(self._refusal)
        try:
            return self._take(frame)
        except Refused as refused:
            self._message, self._refusal = None, str(refused)
            raise

    def _take(self, frame: bytes) -> tuple[H, memoryview | None] | None:
        if len(frame) < _LENGTH.size:
            raise Refused(f"a frame of {len(frame)} bytes")
        (length,) = _LENGTH.unpack_from(frame)
        payload = memoryview(frame)[_LENGTH.size + length :]
        if len(payload) > MOST_PAYLOAD:
            raise Refused(f"a frame with {len(payload):,} bytes of payload")
        if self._message is None:
            self._message = self._begin(frame, length)
        elif length:
            raise Refused("a new header before the last message was complete")
        elif not payload:
            raise Refused("a continuation without payload")
        return self._add(self._message, payload)

    def _begin(self, frame: bytes, length: int) -> _Unfinished[H]:
        if not length:
            raise Refused("a continuation of nothing")
        if length > MOST_HEADER:
            raise Refused(f"a header of {length:,} bytes")
        if length > len(frame) - _LENGTH.size:
            raise Refused(f"a header of {length:,} bytes in a frame of {len(frame):,}")
        header = self._parse(frame[_LENGTH.size : _LENGTH.size + length])
        due = self._allowed(header)
        if isinstance(due, Skip):
            return _Unfinished(header, due.bytes, None)
        # Not a bytearray: that would write zeros first, to every page that was only announced.
        return _Unfinished(header, due, np.empty(due, np.uint8).data)

    def _add(
        self, message: _Unfinished[H], payload: memoryview
    ) -> tuple[H, memoryview | None] | None:
        size, missing, room = len(payload), message.missing, message.room
        if size > missing:
            raise Refused(f"{size:,} bytes of payload where {missing:,} were due")
        if room is not None:
            start = len(room) - missing
            room[start : start + size] = payload
        message.missing -= size
        if message.missing:
            return None
        self._message = None
        return message.header, room
