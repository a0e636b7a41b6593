"""Which rows of a stack are averaged, and the averaging itself.

On a CPU one matrix product does it; on a GPU a kernel that reads and writes every value once, where
a product of so few rows, and spreading its result, takes twice as long.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tiercut.engines.folded.launch import launch
from tiercut.engines.layout import flat

COLUMNS = 1 << 16
"""Columns averaged at a time on the CPU: few enough for the cache, and the same for any number of
threads, so that sums come out to the last bit alike."""
TILE = 1024
"""Columns that one program of the kernel averages."""
HAS_TRITON = find_spec("triton") is not None


@dataclass(frozen=True, eq=False)
class Mixing:
    """Rows that become the weighted mean of their group; rows in no group stay as they are."""

    rows: Tensor
    """The rows that change, [R], group by group."""
    shares: Tensor
    """What each of them counts in its group, [R]; float64, each group's sum to 1."""
    starts: Tensor
    """Where each group's rows begin among them, and the end, [groups + 1]."""
    height: int
    """Rows of the stacks."""

    @classmethod
    def of(
        cls, group: NDArray[np.int64], weights: NDArray[np.float64], device: torch.device
    ) -> Mixing | None:
        """Average rows of one group number; -1 is no group. None where nothing would change.

        A row of weight 0 counts nothing and is given the mean.
        """
        number, group = np.unique(group, return_inverse=True)
        total = np.bincount(group, weights)
        useful = (number >= 0) & (np.bincount(group) > 1) & (total > 0)
        rows = np.flatnonzero(useful[group])
        if not len(rows):
            return None
        rows = rows[np.argsort(group[rows], kind="stable")]
        ends = np.cumsum(np.bincount(group)[useful])
        return cls(
            torch.from_numpy(rows).to(device),
            torch.from_numpy(weights[rows] / total[group[rows]]).to(device),
            torch.from_numpy(np.concatenate([[0], ends])).to(device),
            len(group),
        )

    def average(self, stack: Tensor) -> None:
        """Average the rows of a stack in place; counters take the largest of their group."""
        values = flat(stack)
        if not stack.is_floating_point():
            self._largest(values)
        elif stack.device.type == "cpu":
            for columns in values.split(COLUMNS, dim=1):
                self.multiply(columns)
        elif HAS_TRITON:
            self.fuse(values)
        else:
            self.multiply(values)

    def multiply(self, values: Tensor) -> None:
        """Average by a matrix product."""
        mean = self._matrix.to(values.dtype) @ values
        if len(self.rows) == self.height:
            torch.index_select(mean, 0, self._group_of_row, out=values)  # copies only once
        else:
            values[self.rows] = mean[self._group]

    def fuse(self, values: Tensor) -> None:
        """Average by a kernel."""
        from tiercut.engines.folded.kernels.average import average as kernel

        columns = values.shape[1]
        launch(
            kernel,
            (-(-columns // TILE), len(self.starts) - 1),
            values,
            self.rows,
            self.shares,
            self.starts,
            values.stride(0),
            columns,
            values.dtype == torch.float64,
            TILE,
        )

    @cached_property
    def _group(self) -> Tensor:
        """The group of each of the rows."""
        sizes = self.starts.diff()
        return torch.repeat_interleave(torch.arange(len(sizes), device=sizes.device), sizes)

    @cached_property
    def _group_of_row(self) -> Tensor:
        """The same in the order of the rows, where all of them are in a group."""
        return self._group[self.rows.argsort()]

    @cached_property
    def _matrix(self) -> Tensor:
        """What each row of a stack counts in each group, [groups, rows of the stack]."""
        matrix = self.shares.new_zeros(len(self.starts) - 1, self.height)
        matrix[self._group, self.rows] = self.shares
        return matrix

    def _largest(self, values: Tensor) -> None:
        for first, end in zip(self.starts[:-1], self.starts[1:], strict=True):
            members = self.rows[first:end]
            values[members] = values[members].amax(0)
