"""Every client's own examples as a file, for devices that train on what they have.

FOLDER/CLIENT.npz  the images and labels of one client, as `own` reads them
FOLDER/split.json  who got how much, and of what
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tiercut import __version__
from tiercut.data.dataset import Dataset, Split
from tiercut.data.files import reading
from tiercut.data.progress import Progress, silent
from tiercut.documents import (
    Document,
    check,
    check_version,
    read_json,
    to_json,
    write_bytes,
    write_text,
)
from tiercut.errors import InputError

LIST = "split.json"


class Share(Document):
    """What one client got: so many examples, of so many classes."""

    name: str
    examples: int
    classes: int


class Handout(Document):
    """Who got how much, and what it takes to hand out the same again."""

    version: int = 1
    tiercut: str
    data: str
    partition: str
    seed: int
    clients: tuple[Share, ...] = Field(strict=False)

    @property
    def files(self) -> set[str]:
        """The names of all the files it is made of."""
        return {LIST, *(_file_of(share.name) for share in self.clients)}


def refuse_other_things(folder: Path) -> None:
    """Refuse a folder that holds anything but an earlier handout, whole or in part."""
    odd = sorted(_visible(folder) - _earlier(folder))
    if odd:
        raise InputError(
            f"{folder} holds {odd[0]}, which no earlier split put there; give another folder with"
            f" -o, or write beside what is there with --overwrite"
        )


def hand_out(
    data: Dataset,
    parts: Mapping[str, NDArray[np.int64]],
    folder: Path,
    *,
    partition: str,
    seed: int,
    progress: Progress = silent,
) -> Handout:
    """Write each client's training examples into its file; an earlier handout is replaced.

    `parts` are their rows by client, kept in order; `partition` and `seed` say how they were drawn.
    """
    _check_names(parts)
    train = data.train
    shares = tuple(
        Share(name=name, examples=len(rows), classes=len(np.unique(train.labels[rows])))
        for name, rows in parts.items()
    )
    made = Handout(
        tiercut=__version__, data=data.name, partition=partition, seed=seed, clients=shares
    )
    for name in _earlier(folder) & _visible(folder) - made.files:
        _remove(folder / name)
    # Before the files that it lists: what an interruption leaves is still known to be ours.
    write_text(folder / LIST, to_json(made.model_dump(mode="json")))
    for done, (name, rows) in enumerate(parts.items(), start=1):
        _write_shard(folder / _file_of(name), train, rows)
        progress(done, len(parts))
    return made


def _write_shard(path: Path, split: Split, rows: NDArray[np.int64]) -> None:
    file = BytesIO()
    np.savez(file, images=split.images[rows], labels=split.labels[rows])
    write_bytes(path, file.getvalue())


def _remove(path: Path) -> None:
    try:
        path.unlink()
    except OSError as problem:
        raise InputError(f"{path}: cannot be removed: {problem.strerror}") from None


def _file_of(client: str) -> str:
    return f"{client}.npz"


def _check_names(clients: Iterable[str]) -> None:
    for name in clients:
        if name.startswith(".") or "/" in name or "\0" in name:
            raise InputError(
                f"the client {name!r} cannot give a file its name; call it something without / and"
                f" without a dot at the start in the fleet file"
            )


def _earlier(folder: Path) -> set[str]:
    """The files of an earlier handout; none where its list is missing, or says nothing."""
    path = folder / LIST
    try:
        found = read_json(path)
        check_version(found, str(path), "split")
        return check(Handout, found, str(path)).files
    except InputError:
        return set()


def _visible(folder: Path) -> set[str]:
    with reading(folder):
        if not folder.exists():
            return set()
        return {entry.name for entry in folder.iterdir() if not entry.name.startswith(".")}
