"""Cores share work by replicas: every thread runs torch's operators on itself alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import torch

T = TypeVar("T")


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Keep torch's operators on the thread that calls them."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def spread(work: Callable[[int], T], items: Sequence[int], threads: int) -> list[T]:
    """The results of `work` on every item, from so many threads."""
    with one_thread_each():
        if threads == 1 or len(items) == 1:
            return [work(item) for item in items]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(work, items))
