"""The Triton kernels in their interpreter, in float32, against the same step in float64."""

from __future__ import annotations

import pytest
import torch

pytest.importorskip("triton")

from triton.runtime.interpreter import interpreter_builder

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


@pytest.mark.parametrize("net", NETS)
def test_kernels_read_only_what_was_written_and_in_any_order(net, monkeypatch):
    """Memory is full of NaN when it is given out, and the programs of a kernel run backwards."""
    usual = one_step(net)
    for name in ("empty", "empty_like"):
        monkeypatch.setattr(torch, name, spoilt(getattr(torch, name)))
    monkeypatch.setattr(torch.Tensor, "new_empty", spoilt(torch.Tensor.new_empty))
    builder = interpreter_builder
    forwards = builder.set_grid_idx
    monkeypatch.setattr(
        builder,
        "set_grid_idx",
        lambda *at: forwards(*(n - 1 - i for n, i in zip(builder.grid_dim, at, strict=True))),
    )
    torch.testing.assert_close(one_step(net), usual, rtol=0, atol=0)


def one_step(net):
    """Everything there is after a step."""
    torch.manual_seed(6)
    _, stacks, step, shape = pair(net, OPTIMISERS["momentum"], "exact", torch.float32)
    train(step, torch.randn(3, 4, *shape), torch.randint(0, 5, (3, 4)), RAGGED[0])
    return [step.losses, *(value for chain in stacks for value in chain.parameters.values())]


def spoilt(give):
    def given(*shape, **terms):
        values = give(*shape, **terms)
        return values.fill_(float("nan")) if values.is_floating_point() else values

    return given
