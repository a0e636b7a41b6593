"""A GPU that is too small is no bug: it is said, with what helps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from tiercut.errors import RoomError


@contextmanager
def enough_memory() -> Iterator[None]:
    """Turn torch's word that a device has no memory left into ours."""
    try:
        yield
    except torch.OutOfMemoryError as problem:
        first = str(problem).partition(". ")[0]
        raise RoomError(
            f"the GPU has too little memory left ({first}); wait for what else runs on it or give"
            f" fewer --at-once, or else train fewer clients or a smaller batch"
        ) from problem
