"""CIFAR-10: the binary version, and the Python version without trusting its pickles."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiercut.data.dataset import Dataset, Split, check_labels
from tiercut.data.files import reading
from tiercut.data.progress import Progress
from tiercut.data.unpickle import read_batch
from tiercut.errors import InputError

MEAN, STD = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)
CLASSES = (
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
)
SHAPE = (3, 32, 32)
PIXELS = 3 * 32 * 32
TRAIN_FILES, TEST_FILES = tuple(f"data_batch_{n}" for n in range(1, 6)), ("test_batch",)

Batch = tuple[NDArray[np.uint8], NDArray[np.int64]]


class _Version(NamedTuple):
    folder: str
    suffix: str
    read: Callable[[Path], Batch]


def _read_binary(path: Path) -> Batch:
    """Records of one byte label and 3072 bytes of pixels."""
    with reading(path):
        data = np.fromfile(path, dtype=np.uint8)
    if len(data) == 0 or len(data) % (1 + PIXELS):
        raise InputError(
            f"{path}: the file has {len(data):,} bytes; expected a multiple of {1 + PIXELS:,}, a"
            f" label and 3x32x32 pixels for each image; get it anew"
        )
    records = data.reshape(-1, 1 + PIXELS)
    return records[:, 1:], records[:, 0].astype(np.int64)


VERSIONS = (
    _Version("cifar-10-batches-bin", ".bin", _read_binary),
    _Version("cifar-10-batches-py", "", lambda path: read_batch(path, PIXELS)),
)


def find(folder: Path) -> Path | None:
    """The folder of either version at or below `folder`."""
    for version in VERSIONS:
        for here in (folder / version.folder, folder):
            if (here / f"{TRAIN_FILES[0]}{version.suffix}").is_file():
                return here
    return None


def read(folder: Path, progress: Progress) -> Dataset:
    """CIFAR-10 from a folder that `find` found."""
    binary, python = VERSIONS
    version = binary if (folder / f"{TRAIN_FILES[0]}{binary.suffix}").is_file() else python
    train, test = (_read_split(folder, version, names) for names in (TRAIN_FILES, TEST_FILES))
    return Dataset("cifar10", CLASSES, train, test, None, MEAN, STD)


def _read_split(folder: Path, version: _Version, names: tuple[str, ...]) -> Split:
    batches = [_read_checked(folder / f"{name}{version.suffix}", version) for name in names]
    images = np.concatenate([images for images, _ in batches]).reshape(-1, *SHAPE)
    return Split(images, np.concatenate([labels for _, labels in batches]))


def _read_checked(path: Path, version: _Version) -> Batch:
    images, labels = version.read(path)
    check_labels(labels, len(CLASSES), str(path))
    return images, labels
