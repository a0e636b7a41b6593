"""A user's own arrays in an .npz file: train_images and so on, or x_train as keras has it."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiercut.data.dataset import Dataset, Images, Labels, Split, make_dataset, show_shape
from tiercut.data.files import check_fits, reading
from tiercut.errors import InputError

NAMES = (
    ("train_images", "train_labels", "test_images", "test_labels"),
    ("x_train", "y_train", "x_test", "y_test"),
)
COLOURS = (1, 3)
"""How many channels tell the axis of channels from those of rows and columns."""
MOST_CLASSES = 100_000


def read(path: Path) -> Dataset:
    """The data set in an .npz file; nothing in it is ever unpickled."""
    arrays = _read_arrays(path)
    train = _split(path, arrays[:2])
    test = _split(path, arrays[2:])
    if train.images.dtype != test.images.dtype:
        raise InputError(
            f"{path}: the training images are {show_shape(train.images)} and the test images"
            f" {show_shape(test.images)}; expected the same"
        )
    classes = 1 + int(max(train.labels.max(), test.labels.max()))
    if classes > MOST_CLASSES:
        raise InputError(f"{path}: a label is {classes - 1}; expected less than {MOST_CLASSES:,}")
    return make_dataset(path.stem, tuple(map(str, range(classes))), train, test)


def _read_arrays(path: Path) -> list[NDArray[Any]]:
    try:
        with reading(path), zipfile.ZipFile(path) as archive:
            found = {name.removesuffix(".npy") for name in archive.namelist()}
            names = next((names for names in NAMES if found.issuperset(names)), None)
            if names is None:
                raise InputError(
                    f"{path}: the arrays are {', '.join(sorted(found)) or 'none'}; expected"
                    f" {', '.join(NAMES[0])} (or {', '.join(NAMES[1])})"
                )
            return [_read_array(path, archive, name) for name in names]
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as problem:
        raise InputError(f"{path}: this is no whole .npz file ({problem}); write it anew") from None


def _read_array(path: Path, archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    """One array, whose header is believed only as far as the file's length allows."""
    member = archive.getinfo(f"{name}.npy")
    check_fits(path, member.file_size, compressed=True)
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        read_header = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }.get(version)
        if read_header is None:
            raise ValueError(f"{name} is in version {version} of the .npy format")
        shape, _, dtype = read_header(file)
    if dtype.hasobject:
        raise InputError(f"{path}: {name} holds Python objects; expected numbers")
    if math.prod(shape) * dtype.itemsize > member.file_size:
        raise InputError(f"{path}: {name} claims the shape {shape}, and is shorter; write it anew")
    with archive.open(member) as file:
        array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
        return array


def _split(path: Path, arrays: list[NDArray[Any]]) -> Split:
    images, labels = arrays
    try:
        return Split(_as_images(images), _as_labels(labels))
    except InputError as problem:
        raise InputError(f"{path}: {problem}") from None


def _as_images(array: NDArray[Any]) -> Images:
    """Channels first; whole numbers as bytes, others as single floats."""
    if array.ndim == 3:
        array = array[:, None]
    elif array.ndim == 4 and array.shape[3] in COLOURS and array.shape[1] not in COLOURS:
        array = array.transpose(0, 3, 1, 2)
    if array.dtype.kind in "iu":
        if array.size and not 0 <= array.min() <= array.max() <= 255:
            raise InputError(
                f"pixels run from {array.min()} to {array.max()}; expected whole numbers from 0 to"
                f" 255, or floats"
            )
        return np.ascontiguousarray(array, dtype=np.uint8)
    if array.dtype.kind != "f" or not np.isfinite(array).all():
        raise InputError(f"pixels are {array.dtype}; expected whole or finite numbers")
    return np.ascontiguousarray(array, dtype=np.float32)


def _as_labels(array: NDArray[Any]) -> Labels:
    """One label each, where keras may have a column of them."""
    if array.dtype.kind not in "iu":
        raise InputError(f"labels are {array.dtype}; expected whole numbers")
    if array.size and not 0 <= array.min() <= array.max() < 2**31:
        raise InputError(f"labels run from {array.min()} to {array.max()}; expected 0 upwards")
    column = array.ndim == 2 and array.shape[1] == 1
    return (array[:, 0] if column else array).astype(np.int64)
