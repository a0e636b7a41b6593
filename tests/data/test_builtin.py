"""Sets that need no download: the same every time, and possible to learn."""

import numpy as np
import pytest

from tiercut.data import load
from tiercut.data.synthetic import Wanted, parse
from tiercut.errors import InputError
from tiercut.scenario import DataSection


def named(name):
    return load(DataSection(name=name))


def accuracy_of_class_means(data):
    """How often a test image is nearest to the mean image of its own class."""
    train, test = (s.images.reshape(len(s), -1).astype(float) for s in (data.train, data.test))
    labels = range(len(data.classes))
    means = np.stack([train[data.train.labels == label].mean(axis=0) for label in labels])
    distances = ((test[:, None] - means) ** 2).sum(axis=2)
    return (distances.argmin(axis=1) == data.test.labels).mean()


def test_the_digits_are_those_of_the_uci_repository():
    data = named("digits")
    assert (len(data.train), len(data.test), data.shape) == (1437, 360, (1, 8, 8))
    labels = np.concatenate([data.train.labels, data.test.labels])
    counts = [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert np.bincount(labels).tolist() == counts
    for split in data.parts.values():
        np.testing.assert_allclose(np.bincount(split.labels) / len(split), 0.1, atol=0.01)
        assert len(np.unique(split.images)) == 17
        assert (split.images.min(), split.images.max()) == (0, 255)
    assert accuracy_of_class_means(data) > 0.85


@pytest.mark.parametrize("name", ["digits", "synthetic", "synthetic:2x5x6:3:40"])
def test_the_same_name_is_the_same_set(name):
    first, second = named(name), named(name)
    for part, split in first.parts.items():
        np.testing.assert_array_equal(split.images, second.parts[part].images)
        np.testing.assert_array_equal(split.labels, second.parts[part].labels)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("synthetic", Wanted()),
        ("synthetic:3x32x16", Wanted((3, 32, 16))),
        ("synthetic:3x32x16:4", Wanted((3, 32, 16), 4)),
        ("synthetic:1x1x1:2:2", Wanted((1, 1, 1), 2, 2)),
    ],
)
def test_a_name_says_how_large_the_set_is(name, wanted):
    assert parse(name) == wanted
    data = named(name)
    assert data.shape == wanted.shape
    assert (len(data.classes), len(data.train)) == (wanted.classes, wanted.samples)
    assert len(data.test) == max(wanted.classes, wanted.samples // 5)
    assert np.ptp(np.bincount(data.train.labels)) <= 1


@pytest.mark.parametrize("name", ["synthetic", "synthetic:3x16x16:20:2000"])
def test_made_up_classes_can_be_told_apart(name):
    data = named(name)
    assert accuracy_of_class_means(data) > 0.8
    assert not np.array_equal(data.train.images[: len(data.test)], data.test.images)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("synthetic:", "is no made-up data set"),
        ("synthetic:8x8", "is no made-up data set"),
        ("synthetic:1x8x8:ten", "is no made-up data set"),
        ("synthetic:1x8x8:10:2000:3", "is no made-up data set"),
        ("synthetic:0x8x8", "nothing to tell apart"),
        ("synthetic:1x8x8:1", "nothing to tell apart"),
        ("synthetic:1x8x8:10:9", "a sample of each"),
        ("synthetic:3x1000x1000:10:1000000", "needs 3 TB; expected at most"),
    ],
)
def test_names_that_ask_for_nothing_or_too_much_are_refused(name, sentence):
    with pytest.raises(InputError, match=sentence):
        named(name)
