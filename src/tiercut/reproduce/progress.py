"""How a table tells that it advances, without knowing who looks on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

T = TypeVar("T")


class Watch(Protocol):
    """Hands items on one by one, and may show how many are done."""

    def __call__(self, items: Iterable[T], description: str) -> Iterable[T]:
        """The same items."""


def unwatched(items: Iterable[T], description: str) -> Iterable[T]:
    """A Watch that shows nothing."""
    return items
