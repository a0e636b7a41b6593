"""Frames with something wrong about them, as a broken or a hostile peer would send them.

`malform` takes the frames of a good message, of any kind, and returns others. At times they are
still good: a bit of the payload has turned, or the payload came in other pieces.
"""

import json
from collections.abc import Callable
from itertools import pairwise
from random import Random

from tiercut.net.frames import MOST_HEADER, MOST_PAYLOAD

LENGTH = 4
"""Bytes of a frame's first field, the length of its header."""

TEXTS = [
    b"",
    b" ",
    b"null",
    b"[]",
    b"{}",
    b"{",
    b'"x"',
    b"NaN",
    b"\xff\xfe",
    b"\xef\xbb\xbf{}",
    b"\x00" * 40,
    b'{"kind": "\\ud800"}',
    b'{"kind": "\xed\xa0\x80"}',
    b'{"\\u0000": 1}',
    b"{'kind': 1}",
    b'{"kind": 1,}',
    b"{" * 1_000,
    b"[" * 10_000,
    b"[" * 10_000 + b"]" * 10_000,
    b'{"kind":' * 5_000 + b"1" + b"}" * 5_000,
    b"9" * 10_000,
    b'{"kind": -' + b"9" * 4_000 + b"}",
    b"1e" + b"9" * 10_000,
    b'{"kind": "' + b"x" * 10_000 + b'"}',
    b'{"kind": "\\u001b[2J\\u202e\\r\\n"}',
    b'{"kind": [' + b"0," * 10_000 + b"0]}",
    b"{" + b",".join(b'"k%d": 1' % n for n in range(2_000)) + b"}",
]
"""Headers that no kind of message has."""

VALUES = [
    *(None, True, False, 0, -1, 1, 0.5, -0.0, 2**31, 2**63, 2**64, -(2**63), 10**300, 10**4000),
    *(1e308, 5e-324, float("nan"), float("inf"), -float("inf")),
    *("", "x", "0", "1", "x" * 1_000, "\0", "\n", "\x1b[31m", "\u202e", "é", "../../etc/passwd"),
    *([], [0], [[]], [None], {}, {"kind": 1}, [0] * 1_000, [2**40] * 8, [0, 2**62], [-1, -1]),
]
"""Values that few keys take."""


def malform(frames: list[bytes], random: Random) -> list[bytes]:
    """A message's frames, changed in one way or in two."""
    for _ in range(random.choice((1, 1, 1, 2))):
        frames = random.choice(WAYS)(list(frames), random)
    return frames


def in_pieces(frames: list[bytes], sizes: Callable[[], int]) -> list[bytes]:
    """The same message with its payload cut otherwise: each piece has as many bytes as is said."""
    text, payload = taken_apart(frames[0])
    payload += b"".join(frame[LENGTH:] for frame in frames[1:])
    cuts, size = [0, sizes()], len(payload)
    while cuts[-1] < size:
        cuts.append(cuts[-1] + max(1, sizes()))
    pieces = [payload[start:end] for start, end in pairwise(cuts)]
    return [first_frame(text, pieces[0]), *(bytes(LENGTH) + piece for piece in pieces[1:])]


def taken_apart(frame: bytes) -> tuple[bytes, bytes]:
    """A first frame's header and payload, as its first field says."""
    end = LENGTH + int.from_bytes(frame[:LENGTH], "little")
    return frame[LENGTH:end], frame[end:]


def first_frame(text: bytes, payload: bytes) -> bytes:
    """A header and the first bytes of its payload."""
    return len(text).to_bytes(LENGTH, "little") + text + payload


# ---------------------------------------------------------------- ways to break frames


def _noise(frames, random):
    frames[_any(frames, random)] = random.randbytes(random.randrange(300))
    return frames


def _cut_short(frames, random):
    n = _any(frames, random)
    frames[n] = frames[n][: random.randrange(len(frames[n]) + 1)]
    return frames


def _made_longer(frames, random):
    frames[_any(frames, random)] += random.randbytes(random.randint(1, 100))
    return frames


def _bits_turned(frames, random):
    n = _any(frames, random)
    frame = bytearray(frames[n])
    reach = random.choice((8, 300, len(frame)))  # most of what can go wrong is at the front
    for _ in range(random.randint(1, 8)):
        if frame:
            frame[random.randrange(min(reach, len(frame)))] ^= 1 << random.randrange(8)
    frames[n] = bytes(frame)
    return frames


def _wrong_length(frames, random):
    n = _any(frames, random)
    true = int.from_bytes(frames[n][:LENGTH], "little")
    around = [true - 1, true + 1, true * 2, len(frames[n]), len(frames[n]) - LENGTH]
    fixed = [0, 1, MOST_HEADER, MOST_HEADER + 1, MOST_PAYLOAD, 2**31 - 1, 2**31, 2**32 - 1]
    length = random.choice([*around, *fixed, random.getrandbits(32)]) % 2**32
    frames[n] = length.to_bytes(LENGTH, "little") + frames[n][LENGTH:]
    return frames


def _left_out(frames, random):
    del frames[_any(frames, random)]
    return frames or [b""]


def _twice(frames, random):
    frames.insert(_place(frames, random), frames[_any(frames, random)])
    return frames


def _swapped(frames, random):
    random.shuffle(frames)
    return frames


def _in_between(frames, random):
    something = [b"", bytes(LENGTH), bytes(LENGTH + 1), first_frame(b"{}", b""), frames[0]]
    frames.insert(_place(frames, random), random.choice(something))
    return frames


def _oversize(frames, random):
    text, payload = taken_apart(frames[0])
    if random.random() < 0.5:
        frames[0] = first_frame(text + b" " * (MOST_HEADER + 1 - len(text)), payload)
    else:
        frames[_any(frames, random)] += bytes(MOST_PAYLOAD + 1)
    return frames


def _other_pieces(frames, random):
    most = max(60, sum(map(len, frames)) // 4)  # never more pieces than a test can wait for
    return in_pieces(frames, lambda: random.randint(0, most))


# ---------------------------------------------------------------- ways to break a header


def _another_text(frames, random):
    return [first_frame(random.choice(TEXTS), taken_apart(frames[0])[1]), *frames[1:]]


def _torn_text(frames, random):
    text, payload = taken_apart(frames[0])
    start, end = sorted(random.randrange(len(text) + 1) for _ in range(2))
    middle = random.choice((b"", text[start:end] * 2, random.randbytes(end - start)))
    return [first_frame(text[:start] + middle + text[end:], payload), *frames[1:]]


def _other_values(frames, random):
    """Some value in the header, at any depth, becomes another, goes, or gets a stranger beside."""
    text, payload = taken_apart(frames[0])
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):  # broken in another way already
        return frames
    if isinstance(header, dict) and header:
        _change(header, random)
    return [first_frame(json.dumps(header).encode(), payload), *frames[1:]]


def _key_twice(frames, random):
    text, payload = taken_apart(frames[0])
    value = json.dumps(random.choice(VALUES)).encode()
    key = random.choice(text.split(b'"')[1::2] or [b"x"])
    return [first_frame(text[:-1] + b',"' + key + b'":' + value + b"}", payload), *frames[1:]]


def _change(inside, random):
    """Change one value of a non-empty object or list, or one inside that value."""
    key = random.choice(list(inside)) if isinstance(inside, dict) else _any(inside, random)
    if isinstance(inside[key], dict | list) and inside[key] and random.random() < 0.7:
        _change(inside[key], random)
    elif random.random() < 0.2:
        del inside[key]
    elif isinstance(inside, dict) and random.random() < 0.2:
        inside[random.choice(("x", "", "kind ", "x" * 500))] = random.choice(VALUES)
    else:
        inside[key] = random.choice(VALUES)


def _any(items, random):
    return random.randrange(len(items))


def _place(items, random):
    return random.randrange(len(items) + 1)


WAYS = (
    *(_noise, _cut_short, _made_longer, _bits_turned, _wrong_length),
    *(_left_out, _twice, _swapped, _in_between, _oversize, _other_pieces),
    *(_another_text, _torn_text, _other_values, _key_twice),
)
