"""Decoded image folders, kept so that they are decoded once.

A cached file belongs to one folder and holds the fingerprint of what the folder had in it. A folder
that has changed, and a cached file that cannot be read, are read anew; a cache that cannot be
written is done without.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tiercut.documents import write_bytes
from tiercut.errors import InputError

Arrays = Mapping[str, NDArray[np.uint8]]


def cached_file(folder: Path) -> Path:
    """Where the images of `folder` are kept: in the user's own cache, not among the data."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    name = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:16]
    return Path(base) / "tiercut" / f"{folder.name}-{name}.npz"


def load_cached(path: Path, fingerprint: str) -> Arrays | None:
    """The arrays in a cached file, or None if they are not those of `fingerprint`."""
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            if str(file["fingerprint"]) != fingerprint:
                return None
            return {name: file[name] for name in file.files if name != "fingerprint"}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def store_cached(path: Path, fingerprint: str, arrays: Arrays) -> None:
    """Keep `arrays`, if the cache can be written."""
    file = BytesIO()
    np.savez(file, allow_pickle=False, fingerprint=np.array(fingerprint), **arrays)
    try:
        write_bytes(path, file.getvalue())
    except InputError:
        return
