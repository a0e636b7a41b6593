"""A data set as values: images, labels, what the labels mean, and how to normalise.

Shapes: S samples, C channels, H rows, W columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiercut.errors import InputError

Images = NDArray[np.uint8] | NDArray[np.float32]
Labels = NDArray[np.int64]

MOST_BYTES = 64 * 2**30
"""More than a machine that holds everything in memory can take."""
BLOCK = 4096
"""Samples looked at together: enough to be fast, few enough to need no second copy of a set."""


@dataclass(frozen=True, eq=False)
class Split:
    """Images [S, C, H, W] and their labels [S]; bytes stand for 0..1, floats for themselves."""

    images: Images
    labels: Labels

    def __post_init__(self) -> None:
        """Refuse what is no set of labelled images."""
        shape = self.images.shape
        if len(shape) != 4 or 0 in shape:
            raise InputError(
                f"the images have the shape {shape}; expected samples, channels, rows and columns,"
                f" at least one of each"
            )
        if self.images.dtype not in (np.uint8, np.float32):
            raise InputError(f"the images are {self.images.dtype}; expected uint8 or float32")
        if self.labels.shape != shape[:1] or self.labels.dtype != np.int64:
            raise InputError(
                f"the labels are {self.labels.dtype} with the shape {self.labels.shape}; expected"
                f" int64, one for each of {shape[0]} images"
            )
        self.images.setflags(write=False)
        self.labels.setflags(write=False)

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def full_scale(self) -> float:
        """What the images are divided by before they are normalised."""
        return 255.0 if self.images.dtype == np.uint8 else 1.0


@dataclass(frozen=True, eq=False)
class Dataset:
    """Training and test images, and the mean and deviation of each channel after scaling."""

    name: str
    classes: tuple[str, ...]
    train: Split
    test: Split
    valid: Split | None
    mean: tuple[float, ...]
    std: tuple[float, ...]

    def __post_init__(self) -> None:
        """Refuse parts that do not fit together."""
        if len(self.classes) < 2:
            raise InputError(f"{self.name} has {len(self.classes)} classes; expected at least two")
        for part, split in self.parts.items():
            if split.images.shape[1:] != self.shape or split.images.dtype != self.dtype:
                raise InputError(
                    f"{self.name}: the {part} images are {show_shape(split.images)}; expected"
                    f" {show_shape(self.train.images)}, as in training"
                )
            check_labels(split.labels, len(self.classes), f"{self.name}: {part}")
        if not len(self.mean) == len(self.std) == self.shape[0] or min(self.std) <= 0:
            raise InputError(
                f"{self.name}: the mean is {self.mean} and the deviation {self.std}; expected one"
                f" of each for {self.shape[0]} channels, deviations above 0"
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """Channels, rows and columns of one image."""
        return self.train.images.shape[1:]

    @property
    def dtype(self) -> np.dtype[Any]:
        """What pixels are: bytes or floats."""
        return self.train.images.dtype

    @property
    def parts(self) -> dict[str, Split]:
        """The splits there are, by name."""
        parts = {"train": self.train, "test": self.test}
        return parts if self.valid is None else {**parts, "valid": self.valid}


def make_dataset(
    name: str, classes: tuple[str, ...], train: Split, test: Split, valid: Split | None = None
) -> Dataset:
    """A data set normalised by its own training images."""
    mean, std = channel_statistics(train)
    return Dataset(name, classes, train, test, valid, mean, std)


def channel_statistics(split: Split) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and standard deviation of each channel of the scaled images."""
    total = np.zeros(split.images.shape[1])
    squares = np.zeros_like(total)
    for start in range(0, len(split), BLOCK):
        block = split.images[start : start + BLOCK] / np.float64(split.full_scale)
        total += block.sum(axis=(0, 2, 3))
        squares += np.square(block).sum(axis=(0, 2, 3))
    count = split.images.size / len(total)
    mean = total / count
    std = np.sqrt(np.maximum(squares / count - mean**2, 0.0))
    std[std < 1e-6] = 1.0  # a channel without contrast is left as it is
    return tuple(mean.tolist()), tuple(std.tolist())


def check_labels(labels: NDArray[Any], classes: int, source: str) -> None:
    """Refuse labels that stand for no class; `source` is their name in error messages."""
    wrong = (labels < 0) | (labels >= classes)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise InputError(
            f"{source}: label {at} is {labels[at]}; expected 0 to {classes - 1}, one of"
            f" {classes} classes"
        )


def show_shape(images: NDArray[Any]) -> str:
    """An image's shape and type, such as 3x32x32 uint8."""
    return f"{'x'.join(map(str, images.shape[1:]))} {images.dtype}"
