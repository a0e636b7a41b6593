"""A user's own arrays in an .npz file: train_images and so on, or x_train as keras has it."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Sequence
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
    """The data set in an .npz file."""
    arrays = read_arrays(path, NAMES)
    train = make_split(path, channels_first(arrays[0]), arrays[1])
    test = make_split(path, channels_first(arrays[2]), arrays[3])
    if train.images.dtype != test.images.dtype:
        raise InputError(
            f"{path}: the training images are {show_shape(train.images)} and the test images"
            f" {show_shape(test.images)}; expected the same"
        )
    classes = 1 + int(max(train.labels.max(), test.labels.max()))
    if classes > MOST_CLASSES:
        raise InputError(f"{path}: a label is {classes - 1}; expected less than {MOST_CLASSES:,}")
    return make_dataset(path.stem, tuple(map(str, range(classes))), train, test)


def read_arrays(path: Path, spellings: Sequence[tuple[str, ...]]) -> list[NDArray[Any]]:
    """The arrays that go by one of these spellings of their names; nothing is ever unpickled."""
    try:
        with reading(path), zipfile.ZipFile(path) as archive:
            files = [name for name in archive.namelist() if name.endswith(".npy")]
            found = {name.removesuffix(".npy") for name in files}
            names = next((names for names in spellings if found.issuperset(names)), None)
            if names is None:
                usual, *others = (", ".join(names) for names in spellings)
                raise InputError(
                    f"{path}: the arrays are {', '.join(sorted(found)) or 'none'}; expected"
                    f" {usual}{''.join(f' (or {other})' for other in others)}"
                )
            return [_read_array(path, archive, name) for name in names]
    except (zipfile.BadZipFile, ValueError, RuntimeError) as problem:  # also of what is encrypted
        raise InputError(f"{path}: this is no whole .npz file ({problem}); write it anew") from None


def _read_array(path: Path, archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    """One array, whose header is believed only as far as the file's length allows."""
    member = archive.getinfo(f"{name}.npy")
    check_fits(path, member.file_size, compressed=True)
    shape, dtype = _read_header(archive, member)
    if dtype.hasobject:
        raise InputError(f"{path}: {name} holds Python objects; expected numbers")
    # Each size on its own as well: one of 0 or below would hide the others in their product.
    claimed = max(*shape, math.prod(shape) * dtype.itemsize, 0)
    if min(shape, default=0) < 0 or claimed > member.file_size:
        raise InputError(f"{path}: {name} claims the shape {shape}, and is shorter; write it anew")
    with archive.open(member) as file:
        array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
        return array


def _read_header(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo
) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """The shape and type that an array claims to have."""
    with archive.open(member) as file:
        try:
            version = np.lib.format.read_magic(file)
            read = {
                (1, 0): np.lib.format.read_array_header_1_0,
                (2, 0): np.lib.format.read_array_header_2_0,
            }[version]
            shape, _, dtype = read(file)
        except Exception:  # a damaged header can fail in any way
            raise ValueError(f"{member.filename} has no header that is known") from None
    return shape, dtype


def make_split(path: Path, images: NDArray[Any], labels: NDArray[Any]) -> Split:
    """Images, channels first, and their labels; `path` is their name in error messages."""
    try:
        return Split(_as_images(images), _as_labels(labels))
    except InputError as problem:
        raise InputError(f"{path}: {problem}") from None


def channels_first(array: NDArray[Any]) -> NDArray[Any]:
    """Images of any usual layout as [S, C, H, W]."""
    if array.ndim == 3:
        return array[:, None]
    if array.ndim == 4 and array.shape[3] in COLOURS and array.shape[1] not in COLOURS:
        return array.transpose(0, 3, 1, 2)
    return array


def _as_images(array: NDArray[Any]) -> Images:
    """Whole numbers as bytes, others as single floats."""
    if array.dtype.kind in "iu":
        if array.size and not 0 <= array.min() <= array.max() <= 255:
            raise InputError(
                f"pixels run from {array.min()} to {array.max()}; expected whole numbers from 0 to"
                f" 255, or floats"
            )
        return np.ascontiguousarray(array, dtype=np.uint8)
    if array.dtype.kind != "f":
        raise InputError(f"pixels are {array.dtype}; expected whole or finite numbers")
    with np.errstate(over="ignore", invalid="ignore"):  # what does not fit is infinite, or NaN
        pixels = np.ascontiguousarray(array, dtype=np.float32)
    if not np.isfinite(pixels).all():
        raise InputError("pixels are infinite or no numbers; expected whole or finite numbers")
    return pixels


def _as_labels(array: NDArray[Any]) -> Labels:
    """One label each, where keras may have a column of them."""
    if array.dtype.kind not in "iu":
        raise InputError(f"labels are {array.dtype}; expected whole numbers")
    if array.size and not 0 <= array.min() <= array.max() < 2**31:
        raise InputError(f"labels run from {array.min()} to {array.max()}; expected 0 upwards")
    column = array.ndim == 2 and array.shape[1] == 1
    return (array[:, 0] if column else array).astype(np.int64)
