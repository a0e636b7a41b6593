import errno
import json
import os
import subprocess
import sys

import pytest
import torch
from safetensors.torch import save_file

from tiercut.errors import InputError
from tiercut.plan.plan import PlanFile
from tiercut.train import checkpoint
from tiercut.train.checkpoint import (
    KEY,
    Header,
    checkpoints,
    read_checkpoint,
    save_checkpoint,
    save_tensors,
)

PLAN = PlanFile(
    version=1, aggregator_layer=2, cut_layer=3, aggregator_of=(0, 0), clients=("a", "b")
)
STATE = {
    "weights": torch.arange(6.0).view(2, 3),
    "steps": torch.tensor(7),
    "hosts": torch.tensor([-1, 3]),
    "empty": torch.zeros(0),
    "strided": torch.arange(6.0).view(2, 3).T,
    "half": torch.ones(3, dtype=torch.bfloat16),
}


def header(number):
    return Header(round=number, seconds=1 / 3, bytes=2.0, identity="x", engine="stacked", plan=PLAN)


def save(folder, number):
    return save_checkpoint(folder, header(number), STATE)


def test_what_is_saved_is_read_again(tmp_path):
    path = save(tmp_path / "new", 3)
    found, state = read_checkpoint(path)
    assert found == header(3).model_copy(update={"checksum": found.checksum})
    assert state.keys() == STATE.keys()
    assert all(torch.equal(state[key], value) for key, value in STATE.items())
    assert os.stat(path).st_mode & 0o777 == 0o644


def test_the_two_newest_are_kept(tmp_path):
    for number in (1, 2, 9, 10):
        save(tmp_path, number)
    assert [path.name for path in checkpoints(tmp_path)] == [
        "round-000010.safetensors",
        "round-000009.safetensors",
    ]
    assert len(list(tmp_path.iterdir())) == 2
    assert checkpoints(tmp_path / "nowhere") == []


def shorten(data):
    return data[: len(data) // 2]


def turn_a_bit(data):
    return data[:-3] + bytes([data[-3] ^ 1]) + data[-2:]


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (shorten, "cannot be read"),
        (lambda data: b"", "cannot be read"),
        (lambda data: b"\xff" * 100, "cannot be read"),
        (turn_a_bit, "its checksum is wrong"),
    ],
)
def test_a_damaged_file_is_named(tmp_path, damage, sentence):
    path = save(tmp_path, 1)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(InputError, match=rf"round-000001.safetensors: .*{sentence}"):
        read_checkpoint(path)


@pytest.mark.parametrize(
    ("about", "sentence"),
    [
        (None, "a checkpoint is a JSON object; found null"),
        ({KEY: "{"}, "header is not JSON"),
        ({KEY: '{"version": 2}'}, "this tiercut reads version 1"),
        ({KEY: json.dumps({"version": 1, "round": 1})}, "seconds is missing"),
    ],
)
def test_a_file_of_something_else_is_refused(tmp_path, about, sentence):
    path = tmp_path / "round-000001.safetensors"
    save_file({"x": torch.zeros(1)}, path, about)
    with pytest.raises(InputError, match=sentence):
        read_checkpoint(path)


def test_a_full_disk_leaves_the_last_checkpoint(tmp_path, monkeypatch):
    path = save(tmp_path, 1)

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"round-000002.*No space left.*--resume"):
        save(tmp_path, 2)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    read_checkpoint(path)


LIMITED = """
import resource, sys, torch
from pathlib import Path
from tiercut.errors import InputError
from tiercut.train.checkpoint import save_tensors
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    save_tensors(Path(sys.argv[1]), {"x": torch.zeros(1_000_000)}, {})
except InputError as problem:
    print(problem)
"""


def test_a_file_that_may_not_grow_is_explained_by_the_real_writer(tmp_path):
    path = tmp_path / "x.safetensors"
    words = [sys.executable, "-c", LIMITED, str(path)]
    ran = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "x.safetensors: cannot be written" in ran.stdout
    assert list(tmp_path.iterdir()) == []


def test_tensors_that_cannot_be_written_are_explained(tmp_path, monkeypatch):
    def refuse(*_):
        raise checkpoint.SafetensorError("no space")

    monkeypatch.setattr(checkpoint, "save_file", refuse)
    with pytest.raises(InputError, match="cannot be written: no space"):
        save_tensors(tmp_path / "x.safetensors", STATE, {})
