"""MNIST: read wherever it lies, plain or gzipped; a damaged file is named."""

import gzip

import numpy as np
import pytest

from tests.data.instances import COUNT, as_idx, pixels, write_mnist
from tiercut.data import load
from tiercut.errors import InputError, MissingError
from tiercut.scenario import DataSection

MNIST = DataSection(name="mnist")
IMAGES, LABELS = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("place", [".", "mnist", "MNIST/raw"])
def test_it_is_read_wherever_it_lies(tmp_path, place, compressed):
    made = write_mnist(tmp_path / place, compressed=compressed)
    data = load(MNIST, tmp_path)
    assert data.shape == (1, 28, 28)
    assert (data.mean, data.std) == ((0.1307,), (0.3081,))
    assert data.classes == tuple("0123456789")
    for part, split in (("train", data.train), ("t10k", data.test)):
        np.testing.assert_array_equal(split.images[:, 0], made[f"{part}-images-idx3-ubyte"])
        np.testing.assert_array_equal(split.labels, made[f"{part}-labels-idx1-ubyte"])


GOOD = as_idx(pixels(COUNT, 28, 28))


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize(
    ("file", "data", "sentence"),
    [
        (IMAGES, b"", "ends within its header, after 0 bytes"),
        (IMAGES, GOOD[:9], "ends within its header, after 9 bytes"),
        (IMAGES, b"<html>not found</html>", "starts with 0x3c68746d; expected 0x00000803"),
        (IMAGES, as_idx(pixels(COUNT)), "starts with 0x00000801"),
        (IMAGES, GOOD[:-1], "the header claims 9,408 bytes"),
        (IMAGES, GOOD + b"x", "the header claims 9,408 bytes and more follow"),
        (IMAGES, as_idx(pixels(0), sizes=(2**32 - 1,) * 3), "cut short or damaged"),
        (IMAGES, as_idx(pixels(0, 28, 28)), "the file holds nothing"),
        (LABELS, as_idx(np.zeros(COUNT - 1, np.uint8)), "11 labels for the 12 images"),
        (LABELS, as_idx(np.full(COUNT, 10, np.uint8)), "label 0 is 10; expected 0 to 9"),
    ],
)
def test_a_wrong_file_is_named(tmp_path, compressed, file, data, sentence):
    write_mnist(tmp_path, compressed=compressed, **{file.replace("-", "_"): data})
    with pytest.raises(InputError, match=sentence) as refused:
        load(MNIST, tmp_path)
    assert str(tmp_path / file) in str(refused.value)


def test_a_gzip_that_is_cut_short_is_named(tmp_path):
    write_mnist(tmp_path, compressed=True)
    path = tmp_path / f"{IMAGES}.gz"
    for damaged in (path.read_bytes()[:-20], gzip.compress(GOOD)[:-9] + b"123456789", GOOD):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=f"{IMAGES}.gz: .*get it anew"):
            load(MNIST, tmp_path)


def test_a_part_that_is_missing_is_no_set(tmp_path):
    write_mnist(tmp_path)
    (tmp_path / LABELS).unlink()
    with pytest.raises(MissingError, match="tiercut data get mnist"):
        load(MNIST, tmp_path)
