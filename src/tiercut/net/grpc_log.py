"""What gRPC itself says, in the log: who fails at TLS never gets as far as our own code.

gRPC writes to standard error from C++, line by line, and cannot be told to write elsewhere. So its
lines are taken out of that stream, and all others pass.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from tiercut.net.logs import Log

STDERR: Final = 2
LINE: Final = re.compile(rb"([IWEF])\d{4} [\d:.]+ +\d+ [\w./]+:\d+\] (.*)")
"""Level and words of a line of gRPC's."""
END: Final = b"\0\n"
"""Tells the listener that there is no more to come."""
HANDSHAKE: Final = re.compile(r"Handshake failed.*?(\w+(: [\w ]+)?)$")


@contextmanager
def hearing_grpc(log: Log) -> Iterator[None]:
    """Meanwhile those of gRPC's lines that are worth it become entries of the log."""
    try:
        ours = os.dup(STDERR)
    except OSError:  # it is closed: nobody hears anything
        yield
        return
    heard, theirs = os.pipe()
    os.dup2(theirs, STDERR)
    os.close(theirs)
    listener = threading.Thread(target=_listen, args=(heard, ours, log), daemon=True)
    listener.start()
    try:
        with _python_writes_to(ours):
            yield
    finally:
        _pass(END, STDERR)  # a child may hold the pipe open for longer
        os.dup2(ours, STDERR)
        listener.join()
        os.close(ours)


@contextmanager
def _python_writes_to(handle: int) -> Iterator[None]:
    """Python's own standard error keeps its way, and a terminal is still one."""
    before = sys.stderr
    if before is not sys.__stderr__:  # it has another way already
        yield
        return
    with open(handle, "w", buffering=1, errors="backslashreplace", closefd=False) as own:
        sys.stderr = own
        try:
            yield
        finally:
            sys.stderr = before


def _listen(heard: int, ours: int, log: Log) -> None:
    with open(heard, "rb") as lines:
        for line in lines:
            if line.endswith(END):
                _pass(line.removesuffix(END), ours)
                return
            if found := LINE.match(line):
                _note(found[1].decode(), found[2].decode(errors="replace"), log)
            else:
                _pass(line, ours)


def _pass(line: bytes, handle: int) -> None:
    with suppress(OSError):  # a full disk or a reader that has gone ends nothing
        os.write(handle, line)


def _note(level: str, words: str, log: Log) -> None:
    if failed := HANDSHAKE.search(words):
        log.warn("handshake failed", reason=failed[1])
    elif level != "I":  # connections that come and go are nothing to report
        log.warn("gRPC", words=words)
