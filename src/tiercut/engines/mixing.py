"""Which rows of a stack are averaged, and the averaging itself: one matrix product per tensor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tiercut.engines.layout import flat

COLUMNS = 1 << 16
"""Columns averaged at a time on the CPU: few enough for the cache, and the same for any number of
threads, so that sums come out to the last bit alike."""


@dataclass(frozen=True, eq=False)
class Mixing:
    """Rows that become the weighted mean of their group; rows in no group stay as they are."""

    rows: Tensor
    """The rows that change, [R]."""
    group: Tensor
    """The group of each of them, [R]."""
    shares: Tensor
    """[groups, rows of the stack]: what each row counts in each group; float64, rows sum to 1."""

    @classmethod
    def of(
        cls, group: NDArray[np.int64], weights: NDArray[np.float64], device: torch.device
    ) -> Mixing | None:
        """Average rows of one group number; -1 is no group. None where nothing would change.

        A row of weight 0 counts nothing and is given the mean.
        """
        number, group = np.unique(group, return_inverse=True)
        weight = np.zeros((len(number), len(group)))
        weight[group, np.arange(len(group))] = weights
        useful = (number >= 0) & (np.bincount(group) > 1) & (weight.sum(axis=1) > 0)
        rows = np.flatnonzero(useful[group])
        if not len(rows):
            return None
        shares = weight[useful] / weight[useful].sum(axis=1, keepdims=True)
        place = np.cumsum(useful) - 1
        return cls(
            torch.from_numpy(rows).to(device),
            torch.from_numpy(place[group[rows]]).to(device),
            torch.from_numpy(shares).to(device),
        )

    def average(self, stack: Tensor) -> None:
        """Average the rows of a stack in place; counters take the largest of their group."""
        values = flat(stack)
        if not stack.is_floating_point():
            self._largest(values)
        elif stack.device.type == "cpu":
            for columns in values.split(COLUMNS, dim=1):
                self._mean(columns)
        else:
            self._mean(values)

    def _mean(self, values: Tensor) -> None:
        mean = self.shares.to(values.dtype) @ values
        if len(self.rows) == len(values):
            torch.index_select(mean, 0, self.group, out=values)  # no copy of all rows in between
        else:
            values[self.rows] = mean[self.group]

    def _largest(self, values: Tensor) -> None:
        for number in range(len(self.shares)):
            members = self.rows[self.group == number]
            values[members] = values[members].amax(0)
