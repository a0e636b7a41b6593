"""Least squares on few runs: which features are worth using is what left-out runs say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from tiercut.plan.goal.rounds import Floats, Ints

WORTHWHILE = 0.95
"""Another feature must bring the error on left-out runs below this share of what it was."""
ROUNDING = 1e-9
"""Errors that differ by less are equal."""


@dataclass(frozen=True, eq=False)
class Line:
    """A linear rule: y = offset + [1, x] coefficients, on some columns of x."""

    columns: tuple[int, ...]
    offset: bool
    """Whether what an offset says is added, as it is."""
    coefficients: Floats
    error: float
    """Root of the mean square on runs left out, setting by setting."""
    inverse: Floats
    """Of the design's square, for the leverage of a point."""

    def predict(self, x: Floats, offset: Floats) -> tuple[Floats, Floats]:
        """y, and its standard error, which grows away from the runs."""
        design = _design(x, self.columns)
        leverage = np.einsum("ij,jk,ik->i", design, self.inverse, design)
        y = design @ self.coefficients + (offset if self.offset else 0.0)
        return y, self.error * np.sqrt(1 + leverage)


def fit(x: Floats, y: Floats, groups: Ints, offset: Floats | None) -> Line:
    """The line that predicts whole groups best from the others, with few columns."""
    best: Line | None = None
    for columns, use_offset in _choices(x.shape[1], offset is not None):
        known = offset if use_offset and offset is not None else np.zeros(len(y))
        line = _fit(x, y - known, groups, columns, use_offset)
        if line is None:
            continue
        if best is None or line.error < best.error * WORTHWHILE - ROUNDING:
            best = line
    assert best is not None  # a mean can always be taken
    return best


def _choices(columns: int, has_offset: bool) -> Iterator[tuple[tuple[int, ...], bool]]:
    """Sets of columns from the smallest, each with the offset first where there is one."""
    for size in range(columns + 1):
        for chosen in combinations(range(columns), size):
            yield from ((chosen, use) for use in ((True, False) if has_offset else (False,)))


def _fit(x: Floats, y: Floats, groups: Ints, columns: tuple[int, ...], offset: bool) -> Line | None:
    """One line, unless it could not be told apart from others without one of the groups."""
    design = _design(x, columns)
    missed = np.zeros(len(y))
    for group in np.unique(groups):
        out = groups == group
        if out.all() or np.linalg.matrix_rank(design[~out]) < design.shape[1]:
            return None
        missed[out] = y[out] - design[out] @ _solve(design[~out], y[~out])
    error = float(np.sqrt((missed**2).mean()))
    inverse = np.asarray(np.linalg.inv(design.T @ design), dtype=np.float64)
    return Line(columns, offset, _solve(design, y), error, inverse)


def _design(x: Floats, columns: tuple[int, ...]) -> Floats:
    return np.column_stack([np.ones(len(x)), x[:, list(columns)]])


def _solve(design: Floats, y: Floats) -> Floats:
    return np.asarray(np.linalg.lstsq(design, y, rcond=None)[0])
