"""Opening files that may be missing, cut short, damaged, or claim more than they hold."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tiercut.errors import InputError

MOST_INFLATED = 1032
"""How many bytes one byte of a compressed (deflated) file can become at most."""


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Say which file it was when it cannot be read."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
        raise InputError(
            f"{path}: the file is cut short or damaged ({problem}); get it anew"
        ) from None
    except OSError as problem:
        raise InputError(f"{path}: cannot be read: {problem.strerror or problem}") from None


def check_fits(path: Path, claimed: int, *, compressed: bool) -> None:
    """Refuse a header that claims more bytes than the file can hold, before they are allocated."""
    held = path.stat().st_size
    if claimed > held * (MOST_INFLATED if compressed else 1):
        raise InputError(
            f"{path}: the header claims {claimed:,} bytes and the file has {held:,}; it is cut"
            f" short or damaged, get it anew"
        )
