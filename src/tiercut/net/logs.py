"""What happened, as one JSON object per line: for people with grep, and for programs."""

from __future__ import annotations

import json
import sys
import threading
from datetime import UTC, datetime
from typing import Any, Literal, TextIO

Level = Literal["info", "warning", "error"]


class Log:
    """Writes events to some files; a full disk does not stop a training run."""

    def __init__(self, *files: TextIO, stderr: bool = False) -> None:
        """Write to `files`, and to what is standard error by then."""
        self._files, self._stderr = files, stderr
        self._lock = threading.Lock()

    def __call__(self, event: str, level: Level = "info", **fields: Any) -> None:
        """Note that something happened."""
        moment = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = json.dumps({"time": moment, "level": level, "event": event, **fields}, default=str)
        with self._lock:
            for file in self._all():
                try:
                    file.write(line + "\n")
                    file.flush()
                except (OSError, ValueError) as problem:  # ValueError: the file is closed
                    if file is not sys.stderr:
                        print(f"tiercut: the log cannot be written: {problem}", file=sys.stderr)

    def _all(self) -> tuple[TextIO, ...]:
        """Where lines go now; a program that was started without standard error has none."""
        return (*self._files, sys.stderr) if self._stderr and sys.stderr else self._files

    def warn(self, event: str, **fields: Any) -> None:
        """Note something that should not be."""
        self(event, "warning", **fields)
