"""Data sets: parts that do not fit together are refused, and channels are measured exactly."""

from dataclasses import replace

import numpy as np
import pytest

from tiercut.data.dataset import BLOCK, Dataset, Split, channel_statistics, make_dataset
from tiercut.errors import InputError


def split(count=6, shape=(2, 3, 4), dtype=np.uint8, classes=3):
    images = np.random.default_rng(0).integers(0, 256, (count, *shape)).astype(dtype)
    return Split(images, np.arange(count) % classes)


def dataset(**changes):
    whole = make_dataset("a set", ("a", "b", "c"), split(), split(4))
    return replace(whole, **changes)


def test_a_data_set_knows_its_shape_and_parts():
    whole = dataset(valid=split(3))
    assert whole.shape == (2, 3, 4)
    assert {name: len(part) for name, part in whole.parts.items()} == {
        "train": 6,
        "test": 4,
        "valid": 3,
    }
    assert set(dataset().parts) == {"train", "test"}


def test_values_cannot_be_changed():
    part = split()
    for array in (part.images, part.labels):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


@pytest.mark.parametrize(
    ("images", "labels", "sentence"),
    [
        (np.zeros((0, 1, 2, 2), np.uint8), np.zeros(0, np.int64), "at least one of each"),
        (np.zeros((3, 0, 2, 2), np.uint8), np.zeros(3, np.int64), "at least one of each"),
        (np.zeros((3, 2, 2), np.uint8), np.zeros(3, np.int64), "expected samples, channels"),
        (np.zeros((3, 1, 2, 2), np.float64), np.zeros(3, np.int64), "uint8 or float32"),
        (np.zeros((3, 1, 2, 2), np.uint8), np.zeros(2, np.int64), "one for each of 3 images"),
        (np.zeros((3, 1, 2, 2), np.uint8), np.zeros(3, np.int32), "expected int64"),
    ],
)
def test_what_is_no_split_is_refused(images, labels, sentence):
    with pytest.raises(InputError, match=sentence):
        Split(images, labels)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"classes": ("a",)}, "expected at least two"),
        ({"classes": ("a", "b")}, "a set: train: label 2 is 2; expected 0 to 1"),
        ({"test": split(shape=(2, 3, 5))}, "the test images are 2x3x5 uint8; expected 2x3x4"),
        ({"valid": split(dtype=np.float32)}, "2x3x4 float32; expected 2x3x4 uint8"),
        ({"test": Split(split(1).images, np.array([-1]))}, "test: label 0 is -1"),
        ({"mean": (0.5,)}, "one of each for 2 channels"),
        ({"std": (0.5, 0.0)}, "deviations above 0"),
    ],
)
def test_parts_that_do_not_fit_are_refused(changes, sentence):
    with pytest.raises(InputError, match=sentence):
        dataset(**changes)


@pytest.mark.parametrize(("dtype", "scale"), [(np.uint8, 255.0), (np.float32, 1.0)])
def test_channels_are_measured_after_scaling(dtype, scale):
    part = split(BLOCK + 7, (3, 2, 2), dtype)
    assert part.full_scale == scale
    mean, std = channel_statistics(part)
    scaled = part.images.astype(np.float64) / scale
    np.testing.assert_allclose(mean, scaled.mean(axis=(0, 2, 3)), rtol=1e-9)
    np.testing.assert_allclose(std, scaled.std(axis=(0, 2, 3)), rtol=1e-6)


def test_a_channel_without_contrast_is_left_as_it_is():
    flat = Split(np.full((4, 1, 2, 2), 255, np.uint8), np.arange(4) % 2)
    assert channel_statistics(flat) == ((1.0,), (1.0,))
    assert isinstance(make_dataset("flat", ("a", "b"), flat, flat), Dataset)
