"""Int8 in one kernel, run by Triton's interpreter, leaves what plain PyTorch leaves."""

import pytest
import torch
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

pytest.importorskip("triton")

from tests.engines.instances import distance, reference, settings, task, whole
from tiercut.engines.folded import Travel
from tiercut.engines.folded.precision import PRECISIONS, Precision
from tiercut.engines.folding import Folded
from tiercut.engines.stacked import Stacked

SHAPES = st.tuples(*(st.integers(1, most) for most in (3, 4, 4, 3, 300)))


def travel(values, clients, *, kernels):
    """What arrives, and what comes back of a gradient."""
    values = values.clone().requires_grad_()
    arrived = Travel("int8", clients, kernels=kernels)(values)
    (back,) = torch.autograd.grad(arrived, values, values.detach().flip(0) * 3)
    return arrived.detach(), back


@pytest.mark.filterwarnings("ignore:invalid value encountered")  # NumPy plays the GPU
@examples(max_examples=20, deadline=None)
@given(SHAPES, st.integers(0, 2**32), st.sampled_from([0.0, float("nan"), float("inf"), 1e-40]))
def test_the_kernel_rounds_as_torch_does(shape, seed, odd):
    generator = torch.Generator().manual_seed(seed)
    values = torch.randn(shape, generator=generator) * 10.0 ** (seed % 9 - 4)
    values[-1, 0, 0, 0, -1] = odd
    clients = torch.randint(0, 2, shape[3:4], generator=generator).bool()
    for found, expected in zip(
        travel(values, clients, kernels=True), travel(values, clients, kernels=False), strict=True
    ):
        assert torch.equal(found.isnan(), expected.isnan())
        assert torch.equal(found.nan_to_num(7), expected.nan_to_num(7))


@pytest.mark.no_cover
def test_a_round_with_the_kernel_is_that_of_the_reference(monkeypatch):
    monkeypatch.setitem(PRECISIONS, "exact", Precision(torch.float32, kernels=True))
    work = task("aa-hsfl-ll", "normed", (4, 3, 4), wire="int8", epochs=1)
    judge, fast = reference(work), Stacked(work, settings(precision="exact"), Folded)
    expected, found = (engine.run_round(whole(work, 0)) for engine in (judge, fast))
    assert found.loss == pytest.approx(expected.loss, rel=1e-3)
    # A value between two levels may be rounded to the other one.
    assert distance(fast.weights(), judge.weights()) < 1e-2
