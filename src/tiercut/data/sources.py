"""A data set by its name: built in, known and stored in a folder, or a path of the user's own.

The folder is the one given, else the scenario's, else the one that TIERCUT_DATA names, else `data`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tiercut.data import cifar, cinic, digits, folder, idx, npz, synthetic
from tiercut.data.dataset import Dataset
from tiercut.data.progress import Progress, silent
from tiercut.errors import InputError, MissingError, nearest
from tiercut.scenario import DataSection

Load = Callable[[DataSection, Path | None], Dataset]
"""Reads the data set of a scenario's section, which lies in a folder if one is given."""

VARIABLE = "TIERCUT_DATA"
USUAL_FOLDER = Path("data")


@dataclass(frozen=True)
class Stored:
    """A known set that lies in a folder: how it is found there, and how it is read."""

    about: str
    find: Callable[[Path], Path | None]
    read: Callable[[Path, Progress], Dataset]


STORED = {
    "mnist": Stored("grey digits, 28x28", idx.find, idx.read),
    "cifar10": Stored("photographs of 10 classes, 32x32", cifar.find, cifar.read),
    "cinic10": Stored("CIFAR-10 and ImageNet photographs, 32x32", cinic.find, cinic.read),
}
BUILT_IN = {
    digits.NAME: "grey digits, 8x8; comes with tiercut",
    synthetic.NAME: f"made up from a seed in any size; {synthetic.EXAMPLE}",
}


def data_folder(data_dir: Path | None = None, section_dir: Path | None = None) -> Path:
    """The folder in which known sets are looked for, and into which they are downloaded."""
    named = os.environ.get(VARIABLE)
    return data_dir or section_dir or (Path(named) if named else USUAL_FOLDER)


def load(
    section: DataSection, data_dir: Path | None = None, progress: Progress = silent
) -> Dataset:
    """The data set that a scenario names; the same for every seed."""
    name, base = section.name, data_folder(data_dir, section.dir)
    if name == digits.NAME:
        return digits.read()
    if name.partition(":")[0] == synthetic.NAME:
        return synthetic.read(name)
    if name not in STORED:
        return _read_path(name, base, progress)
    stored = STORED[name]
    place = stored.find(base)
    if place is None:
        raise MissingError(
            f"{name} is not in {base}; run `tiercut data get {name}` to download it, or say where"
            f" it lies with --data-dir or {VARIABLE}"
        )
    return stored.read(place, progress)


def _read_path(name: str, base: Path, progress: Progress) -> Dataset:
    """A user's own set, here or in the data folder."""
    place = next((path for path in (Path(name), base / name) if path.exists()), None)
    if place is None:
        known = [*BUILT_IN, *STORED]
        raise InputError(
            f"there is no data set {name!r}{nearest(name, known)}; expected {', '.join(known)}, or"
            f" the path of an image folder or an .npz file, here or in {base}"
        )
    if place.is_dir():
        return folder.read(place, place.resolve().name, progress)
    if place.suffix == ".npz":
        return npz.read(place)
    raise InputError(f"{place}: this is no data set; expected an image folder or an .npz file")


def remembering(progress: Progress = silent) -> Load:
    """A `load` that has the set it read last at hand, for those who ask for it again and again."""
    known: list[tuple[tuple[DataSection, Path | None], Dataset]] = []

    def read(section: DataSection, data_dir: Path | None) -> Dataset:
        asked = (section, data_dir)
        if not known or known[0][0] != asked:
            known.clear()  # first: only one has to fit into memory
            known.append((asked, load(section, data_dir, progress)))
        return known[0][1]

    return read
