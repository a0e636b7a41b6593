"""The real sets, if TIERCUT_DATA names a folder that has them."""

import os
from pathlib import Path

import numpy as np
import pytest

from tiercut.data.dataset import channel_statistics
from tiercut.data.progress import silent
from tiercut.data.sources import STORED

FOLDER = os.environ.get("TIERCUT_DATA")


def real(name):
    place = STORED[name].find(Path(FOLDER)) if FOLDER else None
    if place is None:
        pytest.skip(f"TIERCUT_DATA names no folder that has {name}")
    return place, STORED[name].read(place, silent)


def test_mnist():
    _, data = real("mnist")
    assert data.train.images.shape == (60_000, 1, 28, 28)
    assert data.test.images.shape == (10_000, 1, 28, 28)
    train = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    test = [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert np.bincount(data.train.labels).tolist() == train
    assert np.bincount(data.test.labels).tolist() == test
    assert_measured_as_known(data)


def test_cifar10():
    _, data = real("cifar10")
    assert data.train.images.shape == (50_000, 3, 32, 32)
    assert data.test.images.shape == (10_000, 3, 32, 32)
    assert np.bincount(data.train.labels).tolist() == [5000] * 10
    assert np.bincount(data.test.labels).tolist() == [1000] * 10
    assert data.train.labels[:5].tolist() == [6, 9, 9, 4, 1]
    assert_measured_as_known(data)


def test_cinic10():
    """Its size is not checked: people keep parts of it."""
    place, data = real("cinic10")
    assert data.shape == (3, 32, 32)
    assert data.classes[0] == "airplane"
    assert len(data.classes) == 10
    for part, split in data.parts.items():
        counts = [len(list((place / part / name).iterdir())) for name in data.classes]
        assert np.bincount(split.labels).tolist() == counts


def assert_measured_as_known(data):
    mean, std = channel_statistics(data.train)
    np.testing.assert_allclose(mean, data.mean, atol=1e-4)
    np.testing.assert_allclose(std, data.std, atol=1e-4)
