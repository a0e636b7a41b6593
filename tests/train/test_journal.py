import errno
import os

import pytest

from tiercut.errors import InputError
from tiercut.train.journal import Journal, read_records, write_records
from tiercut.train.record import Record

VALUES = {
    "round": 1,
    "accuracy": 0.1,
    "loss": 1 / 3,
    "train_loss": 2.3,
    "local_loss": None,
    "round_seconds": 1e-9,
    "seconds": 12345.678901234567,
    "round_bytes": 1e15,
    "bytes": 1e16,
    "samples": 7,
    "clients": 3,
    "lost": 1,
    "aggregator_layer": None,
    "cut_layer": None,
    "cut_layers": (2, 5),
    "aggregators": None,
    "replanned": True,
    "gain": -0.25,
    "wall_seconds": 0.5,
    "samples_per_second": 14.0,
}


def record(number):
    return Record(**{**VALUES, "round": number})


@pytest.fixture
def path(tmp_path):
    return tmp_path / "rounds.jsonl"


def write(path, count):
    with Journal(path) as journal:
        for number in range(1, count + 1):
            journal.append(record(number))


def test_what_is_written_is_read_again(path):
    write(path, 3)
    assert read_records(path) == [record(1), record(2), record(3)]
    write_records(path, read_records(path)[:2])
    assert read_records(path) == [record(1), record(2)]


def test_no_file_is_no_record(path):
    assert read_records(path) == []


def test_a_torn_last_line_is_left_out(path):
    write(path, 3)
    whole = path.read_bytes()
    for size in (len(whole) - 1, len(whole) - 20):
        path.write_bytes(whole[:size])
        assert read_records(path) == [record(1), record(2)]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("nonsense\n", "line 1: this is not JSON"),
        ('{"round": 1}\n', "line 1: accuracy is missing"),
        (record(2).to_line(), "line 1 is of round 2; expected round 1"),
    ],
)
def test_something_else_in_the_file_is_refused(path, text, sentence):
    path.write_text(text)
    with pytest.raises(InputError, match=sentence):
        read_records(path)


def test_a_folder_is_no_journal(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_records(tmp_path)


def test_a_line_that_does_not_fit_leaves_no_trace(path, monkeypatch):
    write(path, 2)
    before = path.read_bytes()

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with Journal(path) as journal:
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(InputError, match="cannot be written: No space left"):
            journal.append(record(3))
    assert path.read_bytes() == before
