"""Two ways of convolving in plain PyTorch agree, values and gradients."""

from __future__ import annotations

import pytest
import torch

from tiercut.engines.folded import stock
from tiercut.engines.folded.geometry import Geometry


@pytest.mark.parametrize(
    "geometry",
    [Geometry((3, 3), 1, (1, 1)), Geometry((3, 2), 2, (1, 0)), Geometry((1, 1), 2, (0, 0))],
)
def test_columns_equal_groups(geometry):
    torch.manual_seed(1)
    inputs = torch.randn(2, 5, 6, 3, 4, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(3, 7, 4, *geometry.kernel, dtype=torch.float64, requires_grad=True)
    grouped = stock.convolve(inputs, weight, geometry)
    columns = stock._product(stock._columns(inputs, geometry), weight)
    assert grouped.shape[1:3] == geometry.output(5, 6)
    torch.testing.assert_close(columns, grouped)
    noise = torch.randn_like(grouped)
    for ours, theirs in zip(
        torch.autograd.grad(columns, (inputs, weight), noise),
        torch.autograd.grad(grouped, (inputs, weight), noise),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs)
