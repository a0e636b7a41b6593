"""The page about the protocol says what the code does: kinds, fields and limits."""

import re
from pathlib import Path
from typing import get_args

import pytest

from tiercut.net import door, due, frames, messages, probing, reception, shift, streams, workshop
from tiercut.net.tensors import MOST_BYTES, MOST_DIMENSIONS, DType

PAGE = (Path(__file__).parents[2] / "docs" / "protocol.md").read_text()
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, flags=re.MULTILINE | re.DOTALL))
OPTIONS = dict(streams._OPTIONS)


def rows(section):
    """The cells of all rows of a section's tables, but for the head."""
    lines = re.findall(r"^\| ?(.*) ?\|$", SECTIONS[section], flags=re.MULTILINE)
    cells = [[cell.strip() for cell in line.split("|")] for line in lines]
    return [
        row for row, after in zip(cells, [*cells[1:], []], strict=True) if not is_rule(row, after)
    ]


def is_rule(row, after):
    """Whether a row is the line below a table's head, or that head."""
    return set(row[0]) == {"-"} or (bool(after) and set(after[0]) == {"-"})


def quoted(text):
    return re.findall(r"`([^`]+)`", text)


def documented(section):
    """The fields of every kind in a section."""
    found, kind = {}, ""
    for first, _, fields, _ in rows(section):
        kind = quoted(first)[0] if first else kind
        found.setdefault(kind, set()).update(quoted(fields))
    return found


def fields(model):
    return set(model.model_fields) - {"kind"}


@pytest.mark.parametrize(
    ("section", "union"),
    [
        ("Words of devices", messages.FromNode),
        ("Words of the server", messages.FromServer),
        ("Data", messages.Data),
    ],
)
def test_every_kind_and_field_is_explained(section, union):
    kinds = {model.model_fields["kind"].default: fields(model) for model in get_args(union)}
    assert documented(section) == kinds


@pytest.mark.parametrize(
    ("start", "model"), [("A member has", messages.Member), ("A job has", messages.Job)]
)
def test_what_is_inside_a_message_is_explained(start, model):
    (paragraph,) = re.findall(rf"^{start}.*?\n\n", PAGE, flags=re.MULTILINE | re.DOTALL)
    assert set(quoted(paragraph)) == fields(model)


def test_a_tensor_is_explained():
    told = {name: text for cell, text in rows("Frames")[3:] for name in quoted(cell)}
    assert set(told) == fields(messages.NamedTensor)
    assert re.split(r", | or ", told["dtype"]) == list(get_args(DType))
    assert told["shape"].startswith(f"at most {MOST_DIMENSIONS} lengths")
    assert MOST_BYTES == 4 * 2**30


def test_the_methods_are_those_of_the_service():
    named = {name for row in rows("Streams") for name in quoted(row[0])}
    assert named == {f"/{streams.SERVICE}/{method}" for method in ("Control", "Data", "Status")}


def test_the_limits_are_those_of_the_code():
    assert f"The last {due.KEPT} attempts are known" in PAGE
    assert f"protocol {messages.PROTOCOL}:" in PAGE
    limits = {what: int(most.replace(",", "")) for what, most in rows("Limits")}
    assert limits == {
        "bytes of a header": frames.MOST_HEADER,
        "bytes of payload in one frame": frames.MOST_PAYLOAD,
        "bytes of a message of gRPC": streams.MOST_MESSAGE,
        "streams of one device that a node serves": door.MOST_STREAMS,
        "streams on one connection": OPTIONS["grpc.max_concurrent_streams"],
        "seconds to finish the TLS handshake": OPTIONS["grpc.server_handshake_timeout_ms"] / 1000,
        "seconds from the stream's start to `hello`": reception.GREETING,
        "seconds of silence before a device counts as gone": reception.SILENCE,
        "seconds that a connection without a stream is kept": (
            OPTIONS["grpc.max_connection_idle_ms"] / 1000
        ),
        "bytes that wait to be computed on, or to be sent to one peer": workshop.MOST_WAITING,
        "answers to probes that wait to be read": probing.MOST_ANSWERS,
        "classes of a job": messages.MOST_CLASSES,
        "batches of all that a device works for, in an epoch": shift.MOST_BATCHES,
    }
