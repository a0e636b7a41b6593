"""MNIST in its own format, IDX: a magic number, the sizes, then bytes; plain or gzipped."""

from __future__ import annotations

import gzip
import math
from io import BufferedReader
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tiercut.data.dataset import Dataset, Split, check_labels
from tiercut.data.files import check_fits, reading
from tiercut.data.progress import Progress
from tiercut.errors import InputError

MEAN, STD = (0.1307,), (0.3081,)
CLASSES = tuple("0123456789")
FOLDERS = (".", "mnist", "MNIST/raw")
TRAIN, TEST = "train", "t10k"
File = gzip.GzipFile | BufferedReader
BYTES = 0x800
"""The magic number of an array of bytes; the number of its dimensions is added."""


def find(folder: Path) -> Path | None:
    """The folder below `folder` that has all four files."""
    for name in FOLDERS:
        here = folder / name
        if all(_file(here, part, kind) for part in (TRAIN, TEST) for kind in ("images", "labels")):
            return here
    return None


def read(folder: Path, progress: Progress) -> Dataset:
    """MNIST from a folder that `find` found."""
    train, test = (_read_split(folder, part) for part in (TRAIN, TEST))
    return Dataset("mnist", CLASSES, train, test, None, MEAN, STD)


def _file(folder: Path, part: str, kind: str) -> Path | None:
    dimensions = {"images": 3, "labels": 1}[kind]
    plain = folder / f"{part}-{kind}-idx{dimensions}-ubyte"
    return next((p for p in (plain, plain.with_name(f"{plain.name}.gz")) if p.is_file()), None)


def _read_split(folder: Path, part: str) -> Split:
    images_file, labels_file = (_file(folder, part, kind) for kind in ("images", "labels"))
    assert images_file is not None
    assert labels_file is not None
    images, labels = read_idx(images_file, 3), read_idx(labels_file, 1)
    if len(images) != len(labels):
        raise InputError(
            f"{labels_file}: there are {len(labels)} labels for the {len(images)} images in"
            f" {images_file.name}; expected as many, get both anew"
        )
    check_labels(labels, len(CLASSES), str(labels_file))
    return Split(images[:, None], labels.astype(np.int64))


def read_idx(path: Path, dimensions: int) -> NDArray[np.uint8]:
    """The array of bytes in an IDX file, checked against the length of the file."""
    compressed = path.suffix == ".gz"
    with reading(path), _open(path, compressed) as file:
        sizes = _read_sizes(file, path, dimensions)
        claimed = math.prod(sizes)
        check_fits(path, claimed, compressed=compressed)
        data = file.read(claimed)
        rest = file.read(1)
    if len(data) != claimed or rest:
        found = "more" if rest else f"only {len(data):,}"
        raise InputError(
            f"{path}: the header claims {claimed:,} bytes and {found} follow; the file is damaged,"
            f" get it anew"
        )
    return np.frombuffer(data, dtype=np.uint8).reshape(sizes)


def _open(path: Path, compressed: bool) -> File:
    return gzip.open(path) if compressed else path.open("rb")


def _read_sizes(file: File, path: Path, dimensions: int) -> tuple[int, ...]:
    header = file.read(4 * (1 + dimensions))
    if len(header) < 4 * (1 + dimensions):
        raise InputError(
            f"{path}: the file ends within its header, after {len(header)} bytes; get it anew"
        )
    magic, *sizes = np.frombuffer(header, dtype=">u4").tolist()
    if magic != BYTES + dimensions:
        raise InputError(
            f"{path}: the file starts with {magic:#010x}; expected {BYTES + dimensions:#010x}, the"
            f" mark of IDX bytes in {dimensions} dimensions"
        )
    if 0 in sizes:
        raise InputError(f"{path}: the file holds nothing; its sizes are {sizes}, get it anew")
    return tuple(sizes)
