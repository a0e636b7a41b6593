"""CIFAR-10: both versions give the same; pickles are read and never run."""

import os
import pickle

import numpy as np
import pytest

from tests.data.instances import (
    CIFAR_NAMES,
    COUNT,
    as_python2_pickle,
    as_records,
    pixels,
    write_cifar,
)
from tiercut.data import load
from tiercut.errors import InputError
from tiercut.scenario import DataSection

CIFAR = DataSection(name="cifar10")


def as_pickle(images, labels, protocol=4):
    return pickle.dumps({"data": images, "labels": labels.tolist()}, protocol=protocol)


BINARY, PYTHON = "cifar-10-batches-bin", "cifar-10-batches-py"
WAYS = [
    (BINARY, ".bin", as_records),
    (".", ".bin", as_records),
    (PYTHON, "", as_python2_pickle),
    (PYTHON, "", as_pickle),
    (".", "", as_python2_pickle),
]


@pytest.mark.parametrize(("folder", "suffix", "pack"), WAYS)
def test_every_version_is_read(tmp_path, folder, suffix, pack):
    made = write_cifar(tmp_path / folder, suffix, pack)
    data = load(CIFAR, tmp_path)
    assert (data.shape, len(data.train), len(data.test)) == ((3, 32, 32), 5 * COUNT, COUNT)
    assert (data.classes[0], data.classes[9], data.mean[0]) == ("airplane", "truck", 0.4914)
    images = np.concatenate([made[name][0] for name in CIFAR_NAMES])
    labels = np.concatenate([made[name][1] for name in CIFAR_NAMES])
    read = np.concatenate([data.train.images, data.test.images])
    np.testing.assert_array_equal(read.reshape(-1, 3072), images)
    np.testing.assert_array_equal(np.concatenate([data.train.labels, data.test.labels]), labels)


IMAGES, TEN = pixels(COUNT, 3072), np.full(COUNT, 10)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "has 0 bytes; expected a multiple of 3,073"),
        (as_records(IMAGES, TEN)[:-1], "expected a multiple of 3,073"),
        (as_records(IMAGES, TEN), "label 0 is 10; expected 0 to 9"),
        (None, "cannot be read: No such file"),
    ],
)
def test_a_wrong_binary_file_is_named(tmp_path, data, sentence):
    write_cifar(tmp_path / BINARY, ".bin", as_records)
    path = tmp_path / BINARY / "data_batch_3.bin"
    path.unlink() if data is None else path.write_bytes(data)
    with pytest.raises(InputError, match=f"data_batch_3.bin: .*{sentence}"):
        load(CIFAR, tmp_path)


class Evil:
    """Makes a folder when it is unpickled."""

    def __init__(self, call, *arguments):
        self.call, self.arguments = call, arguments

    def __reduce__(self):
        return self.call, self.arguments


def evil_batch(call, *arguments):
    return pickle.dumps({"data": Evil(call, *arguments), "labels": []}, protocol=2)


@pytest.mark.parametrize(
    "batch",
    [
        evil_batch(os.mkdir, "evil"),
        evil_batch(eval, "__import__('os').mkdir('evil')"),
        evil_batch(np.zeros, 3),
        pickle.dumps({"data": IMAGES.astype(object), "labels": []}, protocol=4),
        pickle.dumps({"data": IMAGES.astype(np.float32), "labels": []}, protocol=4),
        as_python2_pickle(IMAGES[:2], TEN)[:-1].replace(b"\x00\x0c\x00\x00", b"\x00\x0f\x00\x00"),
        as_python2_pickle(IMAGES[:2], TEN).replace(b"\x89T", b"\x88T"),
    ],
)
def test_a_hostile_pickle_is_refused_and_not_run(tmp_path, batch):
    write_cifar(tmp_path / PYTHON, "", as_python2_pickle)
    (tmp_path / PYTHON / "test_batch").write_bytes(batch)
    with pytest.raises(InputError, match=r"test_batch: this pickle asks for .* was not run"):
        load(CIFAR, tmp_path)
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize(
    ("batch", "sentence"),
    [
        (b"", "cut short or damaged"),
        (as_python2_pickle(IMAGES, TEN)[:-100], "cut short or damaged"),
        (b"hello", "cut short or damaged"),
        (pickle.dumps([1, 2]), "no array 'data'"),
        (pickle.dumps({"labels": [1]}), "no array 'data'"),
        (pickle.dumps({"data": [[1]], "labels": [1]}), "no array 'data'"),
        (as_pickle(IMAGES[:, :-1], TEN), "rows of 3072 bytes"),
        (as_pickle(IMAGES[:0], TEN[:0]), "rows of 3072 bytes"),
        (as_pickle(IMAGES, TEN[:-1]), "for each of 12 images"),
        (as_pickle(IMAGES, TEN * 1.0), "a whole number for each"),
        (as_pickle(IMAGES, np.full(COUNT, 2**62)), "a whole number for each"),
        (as_pickle(IMAGES, TEN), "label 0 is 10; expected 0 to 9"),
    ],
)
def test_a_wrong_pickle_is_named(tmp_path, batch, sentence):
    write_cifar(tmp_path / PYTHON, "", as_python2_pickle)
    (tmp_path / PYTHON / "test_batch").write_bytes(batch)
    with pytest.raises(InputError, match=f"test_batch: .*{sentence}"):
        load(CIFAR, tmp_path)
