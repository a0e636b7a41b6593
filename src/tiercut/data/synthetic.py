"""Images made up from a seed: each class is a pattern of soft blobs, shifted, dimmed and noisy.

They need no download and come in any shape and number, "synthetic:3x32x32:10:5000", and a small
network can tell the classes apart.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiercut.data.dataset import BLOCK, MOST_BYTES, Dataset, Split, make_dataset
from tiercut.data.split import SPLIT_SEEDS
from tiercut.errors import InputError
from tiercut.units import show_size

NAME = "synthetic"
BLOBS = 3
"""Blobs in a class's pattern."""
NOISE = 0.15
"""Standard deviation of each pixel, where a blob's middle is about 1."""
EXAMPLE = "synthetic:1x8x8:10:2000"

_FORM = re.compile(
    r"synthetic(?::(\d{1,6})x(\d{1,6})x(\d{1,6})(?::(\d{1,6})(?::(\d{1,12}))?)?)?", re.ASCII
)


@dataclass(frozen=True)
class Wanted:
    """How large a set to make up: an image's shape, classes, and training samples."""

    shape: tuple[int, int, int] = (1, 8, 8)
    classes: int = 10
    samples: int = 2000


def parse(name: str) -> Wanted:
    """What a name such as "synthetic:1x8x8:10:2000" asks for; the end may be left away."""
    match = _FORM.fullmatch(name)
    if match is None:
        raise InputError(
            f"{name!r} is no made-up data set; write {NAME!r} or {EXAMPLE!r}: channels, rows and"
            f" columns, then classes, then training samples"
        )
    channels, rows, columns, classes, samples = (
        None if group is None else int(group) for group in match.groups()
    )
    usual = Wanted()
    wanted = Wanted(
        usual.shape if not match[1] else (channels or 0, rows or 0, columns or 0),
        usual.classes if classes is None else classes,
        usual.samples if samples is None else samples,
    )
    _check(wanted, name)
    return wanted


def _check(wanted: Wanted, name: str) -> None:
    if min(wanted.shape) < 1 or not 2 <= wanted.classes <= wanted.samples:
        raise InputError(
            f"{name!r} asks for nothing to tell apart; expected at least 1x1x1 pixels, two classes"
            f" and a sample of each"
        )
    size = float(np.prod(wanted.shape, dtype=np.float64) * max(wanted.samples, wanted.classes))
    if size > MOST_BYTES:
        raise InputError(
            f"{name!r} needs {show_size(size)}; expected at most {show_size(MOST_BYTES)}"
        )


def read(name: str) -> Dataset:
    """The set that a name asks for; a fifth as many samples as for training are for testing."""
    wanted = parse(name)
    patterns = _patterns(wanted)
    train = _draw(patterns, wanted.samples, "train")
    test = _draw(patterns, max(wanted.classes, wanted.samples // 5), "test")
    return make_dataset(NAME, tuple(map(str, range(wanted.classes))), train, test)


def _patterns(wanted: Wanted) -> NDArray[np.float32]:
    """Each class's image without noise, [classes, C, H, W], at most 1."""
    channels, rows, columns = wanted.shape
    stream = SPLIT_SEEDS.stream(NAME, "patterns")
    size = (wanted.classes, BLOBS)
    y, x = stream.uniform(0, rows, size), stream.uniform(0, columns, size)
    strength = stream.uniform(0.3, 1.0, (*size, channels))
    radius = max(1.0, min(rows, columns) / 6)
    vertical = np.exp(-(((np.arange(rows) + 0.5 - y[..., None]) / radius) ** 2))
    horizontal = np.exp(-(((np.arange(columns) + 0.5 - x[..., None]) / radius) ** 2))
    blobs = np.einsum("kbc,kbh,kbw->kchw", strength, vertical, horizontal, optimize=True)
    return np.asarray(np.minimum(blobs, 1.0), dtype=np.float32)


def _draw(patterns: NDArray[np.float32], count: int, part: str) -> Split:
    """Samples of all classes in turn, in random order."""
    stream = SPLIT_SEEDS.stream(NAME, part)
    classes, *shape = patterns.shape
    labels = stream.permutation(np.arange(count, dtype=np.int64) % classes)
    images = np.empty((count, *shape), dtype=np.uint8)
    for start in range(0, count, BLOCK):
        block = labels[start : start + BLOCK]
        bright = stream.uniform(0.7, 1.0, (len(block), 1, 1, 1)).astype(np.float32)
        noise = stream.standard_normal((len(block), *shape), dtype=np.float32)
        pixels = _shifted(patterns[block], stream) * bright + np.float32(NOISE) * noise
        images[start : start + BLOCK] = np.rint(255 * np.clip(pixels, 0, 1))
    return Split(images, labels)


def _shifted(images: NDArray[np.float32], stream: np.random.Generator) -> NDArray[np.float32]:
    """Each image moved by a pixel or not, down and right; what leaves comes back opposite."""
    count, channels, rows, columns = images.shape
    down, right = stream.integers(0, 2, (2, count, 1))
    y = ((np.arange(rows) - down) % rows)[:, None, :, None]
    x = ((np.arange(columns) - right) % columns)[:, None, None, :]
    sample, channel = np.arange(count)[:, None, None, None], np.arange(channels)[:, None, None]
    moved: NDArray[np.float32] = images[sample, channel, y, x]
    return moved
