"""The shape of one convolution over folded activations."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Geometry:
    """A filter and how it moves; a linear layer is a 1x1 filter on a 1x1 image."""

    kernel: tuple[int, int] = (1, 1)
    stride: int = 1
    padding: tuple[int, int] = (0, 0)

    @property
    def pointwise(self) -> bool:
        """Whether every output position sees exactly its own input position."""
        return self.kernel == (1, 1) and self.stride == 1 and self.padding == (0, 0)

    def output(self, height: int, width: int) -> tuple[int, int]:
        """Height and width of the result."""
        sizes = (
            (size + 2 * pad - kernel) // self.stride + 1
            for size, kernel, pad in zip((height, width), self.kernel, self.padding, strict=True)
        )
        high, wide = sizes
        return high, wide
