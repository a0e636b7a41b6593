"""Block sizes of every kernel by shape, fixed from measurements on an H200."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

PROCESSORS = 132
"""Multiprocessors of the chip."""


@dataclass(frozen=True)
class Blocks:
    """A tile of the result, the depth of one product, and how a program runs it."""

    rows: int
    cols: int
    depth: int
    warps: int
    stages: int

    @property
    def options(self) -> dict[str, int]:
        """What Triton calls the last two."""
        return {"num_warps": self.warps, "num_stages": self.stages}


def power(size: int, low: int, high: int) -> int:
    """The smallest power of two that holds `size`, between `low` and `high`."""
    block = low
    while block < min(size, high):
        block *= 2
    return block


def for_convolve(rows: int, channels: int, outputs: int) -> Blocks:
    """Tiles of the forward product and of the gradient of its input."""
    depth = power(channels, 16, 64)
    high = power(rows, 16, 128)
    cols = power(outputs, 16, 256 if high == 128 else 128)
    if high * cols >= 128 * 128:
        return Blocks(high, cols, depth, 8, 3)
    return Blocks(high, cols, min(depth, 32) if cols <= 32 else depth, 4, 3 if depth == 64 else 4)


def for_weigh(positions: int, channels: int, outputs: int) -> Blocks:
    """Tiles of the gradient of the weights."""
    cols = power(channels, 16, 128)
    rows = power(outputs, 16, 128)
    deep = power(positions, 16, 128)
    if rows * cols == 128 * 128:
        if positions >= 2048 and channels >= 256:
            return Blocks(rows, cols, 64, 4, 3)
        return Blocks(rows, cols, min(deep, 32), 4, 4)
    if rows * cols <= 32 * 32:
        return Blocks(rows, cols, deep, 4, 3)
    return Blocks(rows, cols, min(deep, 64), 4, 4)


def library_weigh(positions: int, channels: int, outputs: int) -> bool:
    """Whether the library's batched product is at least as fast for a 1x1 filter's gradient."""
    return positions >= 512 and channels % 8 == 0 and outputs % 8 == 0


def splits(programs: int, positions: int, depth: int) -> int:
    """In how many parts a sum over positions is cut, so that few tiles still fill the chip."""
    wanted = 1
    while programs * wanted < 3 * PROCESSORS and positions // (2 * wanted) >= 8 * depth:
        wanted *= 2
    return wanted


@dataclass(frozen=True)
class Strips:
    """How a sum over rows is cut: strips of `strip` rows, read `rows` x `chans` at a time."""

    strip: int
    count: int
    rows: int
    chans: int
    warps: int = 4


def for_rows(rows: int, width: int, channels: int) -> Strips:
    """Strips over the rows of folded activations; channels of a program belong to one client."""
    chans = min(channels & -channels, 64)
    high = power(rows, 1, (2048 if rows > 4096 else 1024) // chans)
    wanted = max(1, 8 * PROCESSORS * chans // width)
    strip = ceil(ceil(rows / wanted) / high) * high
    return Strips(strip, ceil(rows / strip), high, chans)
