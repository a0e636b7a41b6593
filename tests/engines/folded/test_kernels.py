"""The Triton kernels in their interpreter, in float32, against the same step in float64."""

from __future__ import annotations

import pytest
import torch

pytest.importorskip("triton")

from tests.engines.folded.nets import NETS
from tests.engines.folded.test_step import OPTIMISERS, RAGGED, furthest, pair, train
from tiercut.engines.folded.precision import PRECISIONS, Precision


@pytest.fixture(autouse=True)
def exact(monkeypatch):
    monkeypatch.setitem(PRECISIONS, "exact", Precision(torch.float32, kernels=True))


@pytest.mark.parametrize("optimiser", OPTIMISERS)
@pytest.mark.parametrize("net", NETS)
def test_kernels_equal_loop(net, optimiser):
    torch.manual_seed(6)
    spec = OPTIMISERS[optimiser]
    clients, stacks, step, shape = pair(net, spec, "exact", torch.float32)
    sizes = RAGGED[0]
    images = torch.randn(3, 4, *shape, dtype=torch.float64)
    labels = torch.randint(0, 5, (3, 4))
    train(step, images, labels, sizes)
    losses = clients.train(images, labels, sizes)
    # Adam turns the rounding of a gradient that is zero into a step of the full rate.
    assert furthest(clients, stacks) <= (2e-2 if spec.kind == "adam" else 2e-5)
    torch.testing.assert_close(step.losses.double(), losses, rtol=1e-5, atol=1e-5)
