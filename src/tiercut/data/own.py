"""The data of one device. It stays there, and must fit what the other devices train on.

FILE.npz            images and labels, as `tiercut data split` writes them
FOLDER/FILE.npz     the same; the folder has one such file
FOLDER/CLASS/*.png  a folder of images per class, in the order of the classes' names
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tiercut.data.dataset import Split, check_labels, show_shape
from tiercut.data.decode import decode_images
from tiercut.data.files import reading
from tiercut.data.folder import list_images
from tiercut.data.npz import channels_first, make_split, read_arrays
from tiercut.data.progress import Progress, silent
from tiercut.errors import InputError

ARRAYS = ("images", "labels")
"""What the arrays in a device's .npz file are called."""
COLOURED = 3


def load_own(
    path: Path, *, classes: int, shape: tuple[int, ...], progress: Progress = silent
) -> Split:
    """The examples of this device: images of `shape`, with labels of `classes` classes."""
    place = _find(path)
    if place.is_dir():
        split = _read_folder(place, classes, shape, progress)
    else:
        split = _read_file(place, shape)
    if split.images.shape[1:] != shape:
        raise InputError(
            f"{place}: the images are {show_shape(split.images)}; expected"
            f" {'x'.join(map(str, shape))}, which is what the model takes"
        )
    check_labels(split.labels, classes, str(place))
    return split


def _find(path: Path) -> Path:
    """The .npz file, or the folder of class folders, that `path` stands for."""
    with reading(path):
        if path.is_file():
            return path
        if not path.is_dir():
            raise InputError(
                f"{path}: there is no such file or folder; expected an .npz file or a folder of"
                f" images per class"
            )
        files = sorted(file for file in path.glob("*.npz") if not file.name.startswith("."))
    if len(files) > 1:
        raise InputError(
            f"{path}: there are {len(files)} .npz files; expected the data of one device, name its"
            f" file, such as {files[0]}"
        )
    return files[0] if files else path


def _read_file(path: Path, shape: tuple[int, ...]) -> Split:
    images, labels = read_arrays(path, [ARRAYS])
    # Where the shape is right as it is, a last axis of 1 or 3 is no axis of channels.
    return make_split(path, images if images.shape[1:] == shape else channels_first(images), labels)


def _read_folder(path: Path, classes: int, shape: tuple[int, ...], progress: Progress) -> Split:
    listing = list_images(path)
    if len(listing.classes) != classes:
        raise InputError(
            f"{path}: there are {len(listing.classes)} class folders, {listing.classes[0]} to"
            f" {listing.classes[-1]}; expected one for each of {classes} classes"
        )
    images = decode_images(listing.files, progress)
    if images.shape[1] == 1 and shape[0] == COLOURED:  # as grey images among coloured ones are
        images = np.repeat(images, COLOURED, axis=1)
    return Split(images, listing.labels)
