"""How reading and downloading tell that they advance, without knowing who looks on."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Told how many steps are done, of how many."""


def silent(done: int, total: int) -> None:
    """A Progress that shows nothing."""
