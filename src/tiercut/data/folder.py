"""Image folders: a folder of images per class, for training and testing apart or together.

    ROOT/train/CLASS/*.png, ROOT/test/CLASS/*.png, and ROOT/valid/CLASS/*.png if there is one
    ROOT/CLASS/*.png, of which a fifth is held out for testing

CINIC-10 is such a folder.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiercut.data.cache import Arrays, cached_file, load_cached, store_cached
from tiercut.data.dataset import Dataset, Split, make_dataset
from tiercut.data.decode import decode_images
from tiercut.data.progress import Progress
from tiercut.data.split import hold_out
from tiercut.errors import InputError

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".ppm", ".pgm", ".webp")
PARTS = ("train", "test", "valid")
ALL = "all"
"""The one part of a folder that has class folders alone."""


class Listing(NamedTuple):
    """The images of one part, class by class, and what would change if one of them did."""

    classes: tuple[str, ...]
    files: tuple[str, ...]
    labels: NDArray[np.int64]
    digest: bytes


def read(root: Path, name: str, progress: Progress) -> Dataset:
    """The data set in an image folder."""
    listings = {part: list_images(folder) for part, folder in _parts(root).items()}
    classes = _common_classes(root, listings)
    images = _read_images(root, listings, progress)
    splits = {part: (images[part], listings[part].labels) for part in listings}
    if ALL in splits:
        return make_dataset(name, classes, *hold_out(*splits[ALL], name))
    valid = Split(*splits["valid"]) if "valid" in splits else None
    return make_dataset(name, classes, Split(*splits["train"]), Split(*splits["test"]), valid)


def _parts(root: Path) -> dict[str, Path]:
    if (root / "train").is_dir() and (root / "test").is_dir():
        return {part: root / part for part in PARTS if (root / part).is_dir()}
    return {ALL: root}


def list_images(folder: Path) -> Listing:
    """The images in the class folders of `folder`, in order of their names."""
    classes = sorted(entry.name for entry in _visible(folder) if entry.is_dir())
    if len(classes) < 2:
        raise InputError(
            f"{folder}: there are {len(classes)} class folders; expected train/ and test/ with a"
            f" folder of images per class, or two or more such class folders"
        )
    files: list[str] = []
    labels: list[int] = []
    digest = hashlib.sha256()
    for label, name in enumerate(classes):
        images = sorted(_images(folder / name), key=lambda entry: entry.name)
        if not images:
            raise InputError(
                f"{folder / name}: there is no image in this class folder; expected files that end"
                f" in {', '.join(SUFFIXES)}"
            )
        for image in images:
            state = image.stat()
            digest.update(f"{image.path}\0{state.st_size}\0{state.st_mtime_ns}\0".encode())
        files += [image.path for image in images]
        labels += [label] * len(images)
    return Listing(tuple(classes), tuple(files), np.array(labels), digest.digest())


def _images(folder: Path) -> list[os.DirEntry[str]]:
    return [entry for entry in _visible(folder) if entry.name.lower().endswith(SUFFIXES)]


def _visible(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return [entry for entry in entries if not entry.name.startswith(".")]
    except OSError as problem:
        raise InputError(f"{folder}: cannot be read: {problem.strerror}") from None


def _common_classes(root: Path, listings: dict[str, Listing]) -> tuple[str, ...]:
    first, *others = listings
    classes = listings[first].classes
    for part in others:
        odd = sorted(set(classes) ^ set(listings[part].classes))
        if odd:
            raise InputError(
                f"{root}: the class folder {odd[0]!r} is in only one of {first}/ and {part}/;"
                f" expected the same classes in both"
            )
    return classes


def _read_images(root: Path, listings: dict[str, Listing], progress: Progress) -> Arrays:
    """The images of each part, from the cache if the folder is still what it was."""
    fingerprint = hashlib.sha256(b"".join(listing.digest for listing in listings.values()))
    cache = cached_file(root)
    kept = load_cached(cache, fingerprint.hexdigest())
    if kept is not None:
        return kept
    files = [file for listing in listings.values() for file in listing.files]
    together = decode_images(files, progress)
    ends = np.cumsum([len(listing.files) for listing in listings.values()])
    images = dict(zip(listings, np.split(together, ends[:-1]), strict=True))
    store_cached(cache, fingerprint.hexdigest(), images)
    return images


def find(folder: Path, names: Sequence[str]) -> Path | None:
    """The first of `names` below `folder` that has training and test images."""
    for here in (folder / name for name in names):
        if (here / "train").is_dir() and (here / "test").is_dir():
            return here
    return None
