"""rounds.jsonl: the records of the rounds, one line each, on the disk before the next round."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tiercut.documents import read_lines, write_text
from tiercut.errors import InputError
from tiercut.train.checkpoint import ADVICE
from tiercut.train.record import Record


class Journal:
    """The file, open for more lines."""

    def __init__(self, path: Path) -> None:
        self._path, self._file = path, path.open("ab", buffering=0)

    def append(self, record: Record) -> None:
        """Add a line; when this returns, it is on the disk. Where it does not fit, none is."""
        end = os.fstat(self._file.fileno()).st_size
        left = record.to_line().encode()
        try:
            while left:
                left = left[self._file.write(left) :]
            os.fsync(self._file.fileno())
        except OSError as problem:
            self._file.truncate(end)
            raise InputError(
                f"{self._path}: cannot be written: {problem.strerror}; {ADVICE}"
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()


def read_records(path: Path) -> list[Record]:
    """The records in a file, from round 1 on; what follows the last whole line is left out."""
    records = read_lines(path, Record)
    for expected, record in enumerate(records, start=1):
        if record.round != expected:
            raise InputError(
                f"{path}: line {expected} is of round {record.round}; expected round {expected}"
            )
    return records


def write_records(path: Path, records: Sequence[Record]) -> None:
    """Make these the records in a file, whole or not at all."""
    write_text(path, "".join(record.to_line() for record in records))
