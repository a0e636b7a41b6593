"""How kernels start: on the device, or only into the compiler, many at a time."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from torch import Tensor

Launch = tuple[Any, tuple[int, ...], list[Any], dict[str, Any]]

_wanted: list[Launch] | None = None


def launch(kernel: Any, grid: tuple[int, ...], *arguments: Any, **options: Any) -> None:
    """Run a Triton kernel, or inside `compiling` note that it is wanted."""
    if _wanted is None:
        kernel[grid](*arguments, **options)
    else:  # pragma: no cover (needs a GPU)
        types = [each.dtype if isinstance(each, Tensor) else each for each in arguments]
        _wanted.append((kernel, grid, types, options))


@contextmanager
def compiling(workers: int) -> Iterator[None]:  # pragma: no cover (needs a GPU)
    """Compile whatever is launched inside, in parallel, and run none of it.

    Compiling waits for the end, because backward passes launch from threads of autograd's own.
    """
    global _wanted  # noqa: PLW0603 (one device, one compiler)
    wanted: list[Launch] = []
    _wanted = wanted
    try:
        yield
    finally:
        _wanted = None
    triton: Any = import_module("triton")
    with ThreadPoolExecutor(workers) as pool, triton.AsyncCompileMode(pool):
        for kernel, grid, types, options in wanted:
            kernel.warmup(*types, grid=grid, **options)
