"""Files of one JSON object per line, which somebody may still be writing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypeVar

from tiercut.documents import Document, check
from tiercut.errors import InputError

D = TypeVar("D", bound=Document)


def read_lines(path: Path, model: type[D]) -> list[D]:
    """The lines of a file as values; none where there is no file.

    What follows the last line's end is left out: a line that is torn, or on its way.
    """
    try:
        lines = path.read_bytes().split(b"\n")[:-1]
    except FileNotFoundError:
        return []
    except OSError as problem:
        raise InputError(f"{path}: cannot be read: {problem.strerror}") from None
    return [_read(line, model, f"{path}: line {n}") for n, line in enumerate(lines, start=1)]


def _read(line: bytes, model: type[D], source: str) -> D:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as problem:
        raise InputError(f"{source}: this is not JSON: {problem}") from None
    return check(model, data, source)
