"""Every error tiercut raises on purpose, and the exit code each one gives the command line.

    TiercutError            1   something went wrong that we can explain
    ├── InputError          3   a file, a value or an option is not what it must be
    ├── InfeasibleError     4   the input is fine, and no plan satisfies it
    ├── MissingError        5   something needed is not installed or not on this machine
    └── RoomError           6   a GPU has too little memory for it, at least now

Code 2 is the command line's own (unknown option), 130 is Ctrl-C, and 70 is a bug in tiercut.
Messages are whole sentences: what was found, what was expected, and what to do about it.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import ClassVar


class TiercutError(Exception):
    """Base of all errors that carry a message meant for a person."""

    exit_code: ClassVar[int] = 1


class InputError(TiercutError):
    """A file, a value or an option is not what it must be."""

    exit_code = 3


class InfeasibleError(TiercutError):
    """The input is well formed, but no plan satisfies it."""

    exit_code = 4


class MissingError(TiercutError):
    """Something needed is not installed or not on this machine."""

    exit_code = 5


class RoomError(TiercutError):
    """A GPU has too little memory for it, at least while others use it too."""

    exit_code = 6


BUG_EXIT_CODE = 70
INTERRUPTED_EXIT_CODE = 130


def nearest(word: str, valid: Iterable[str]) -> str:
    """A hint such as ` (did you mean 'clients'?)`, or nothing when no valid word is close."""
    words = list(valid)
    same_letters = [w for w in words if w.casefold() == word.casefold()]  # mbps is Mbps, not bps
    close = same_letters or get_close_matches(word, words, n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
