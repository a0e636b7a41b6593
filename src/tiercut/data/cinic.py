"""CINIC-10: an image folder with training, validation and test images, as CIFAR-10 but larger."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tiercut.data import folder
from tiercut.data.dataset import Dataset
from tiercut.data.progress import Progress

MEAN, STD = (0.4789, 0.4723, 0.4305), (0.2421, 0.2383, 0.2587)
FOLDERS = ("cinic-10", "cinic10", "CINIC-10", ".")


def find(base: Path) -> Path | None:
    """The folder at or below `base` that has its training and test images."""
    return folder.find(base, FOLDERS)


def read(root: Path, progress: Progress) -> Dataset:
    """CINIC-10 from a folder that `find` found."""
    return replace(folder.read(root, "cinic10", progress), mean=MEAN, std=STD)
