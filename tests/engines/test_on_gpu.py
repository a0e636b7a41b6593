"""Executors `graph` and `folded` on a real GPU; without one there is nothing to test."""

import pytest
import torch

from tests.engines.instances import FAMILIES, FOLDING, distance, reference, task, whole
from tiercut.cost import Placement
from tiercut.engines.executor import Settings
from tiercut.engines.folded import unsupported
from tiercut.engines.folded.precision import PRECISIONS, Precision
from tiercut.engines.folding import Folded
from tiercut.engines.graph import Graph
from tiercut.engines.optimiser import Optimiser
from tiercut.engines.stacked import Stacked

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")

OPTIMISERS = [Optimiser("sgd", 0.05, momentum=0.9), Optimiser("adam", 0.01)]
EXECUTORS = {"graph": Graph, "folded": Folded}


def on_gpu(work, executor, precision="fp64"):
    """The engine on the GPU; a task that `folded` does not take is no test of it."""
    if executor == "folded" and (obstacle := unsupported(work.model.layers)):
        pytest.skip(obstacle)
    return Stacked(work, Settings(torch.device("cuda"), precision), EXECUTORS[executor])


def weights(engine):
    return {key: value.cpu() for key, value in engine.weights().items()}


def assert_trained_alike(judge, fast, work, loss, weight, where=None):
    """The loss and the weights after two rounds differ by so little."""
    for index in range(2):
        plan = whole(work, index, where)
        expected, found = (engine.run_round(plan) for engine in (judge, fast))
    assert found.samples == expected.samples
    assert found.loss == pytest.approx(expected.loss, rel=loss)
    assert distance(weights(fast), judge.weights()) < weight


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("optimiser", OPTIMISERS, ids=lambda o: o.kind)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("intervals", [(None, None), ("batch", "batch"), (2, 2)])
@pytest.mark.parametrize("scheme", ["sfl", "dtfl", "aa-hsfl-ll"])
def test_they_train_as_the_reference(scheme, intervals, family, optimiser, executor):
    work = task(scheme, family, intervals=intervals, optimiser=optimiser)
    weight = 1e-4 if optimiser.kind == "adam" else 1e-8
    assert_trained_alike(reference(work), on_gpu(work, executor), work, 1e-6, weight)


@pytest.mark.parametrize("optimiser", OPTIMISERS, ids=lambda o: o.kind)
@pytest.mark.parametrize("family", FOLDING)
@pytest.mark.parametrize("cuts", [(1, 3, 1, 3, 1), (4, 2, 2, 1, 4)], ids=str)
def test_clients_of_several_cuts_share_as_the_reference(cuts, family, optimiser):
    work = task("dtfl", family, intervals=(None, "batch"), optimiser=optimiser)
    weight, where = 1e-4 if optimiser.kind == "adam" else 1e-8, Placement.two_tiers(cuts)
    assert_trained_alike(reference(work), on_gpu(work, "folded"), work, 1e-6, weight, where)


# In bf16, small parameters of tiny layers are off by more than their own size: the loss must do.
@pytest.mark.parametrize(
    ("precision", "loss", "weight"), [("exact", 1e-3, 1e-2), ("bf16", 0.02, float("inf"))]
)
@pytest.mark.parametrize("intervals", [(None, None), ("batch", "batch")])
@pytest.mark.parametrize("family", FOLDING)
@pytest.mark.parametrize("scheme", ["dtfl", "aa-hsfl-ll"])
def test_the_kernels_train_almost_as_the_reference(
    scheme, family, intervals, precision, loss, weight, monkeypatch
):
    monkeypatch.setitem(PRECISIONS, "exact", Precision(torch.float32, kernels=True))
    wire = "bf16" if precision == "bf16" else "fp32"
    work = task(scheme, family, intervals=intervals, wire=wire)
    assert_trained_alike(reference(work), on_gpu(work, "folded", precision), work, loss, weight)


# A value between two steps of int8 may be rounded to the other one.
@pytest.mark.parametrize(("wire", "weight"), [("bf16", 1e-8), ("int8", 1e-2)])
@pytest.mark.parametrize("scheme", ["sfl", "aa-hsfl-ll"])
@pytest.mark.parametrize("executor", EXECUTORS)
def test_what_travels_is_rounded_as_by_the_reference(executor, scheme, wire, weight):
    work = task(scheme, "normed", wire=wire)
    assert_trained_alike(reference(work), on_gpu(work, executor), work, weight / 10, weight)


@pytest.mark.parametrize("intervals", [(None, None), ("batch", "batch")])
@pytest.mark.parametrize("executor", EXECUTORS)
def test_rounds_start_ahead_as_with_the_reference(executor, intervals):
    work = task("aa-hsfl-ll", "normed", intervals=intervals, outer_momentum=0.8)
    assert_trained_alike(reference(work), on_gpu(work, executor), work, 1e-6, 1e-8)


@pytest.mark.parametrize("intervals", [(None, None), ("batch", "batch")])
@pytest.mark.parametrize("scheme", ["dtfl", "aa-hsfl-ll"])
@pytest.mark.parametrize("executor", EXECUTORS)
def test_the_server_sees_the_share_that_it_sees_in_the_reference(executor, scheme, intervals):
    work = task(scheme, "normed", intervals=intervals, server_share=0.5)
    assert_trained_alike(reference(work), on_gpu(work, executor), work, 1e-6, 1e-8)


@pytest.mark.parametrize("intervals", [(None, None), ("batch", "batch")])
def test_the_kernels_train_on_a_share_of_a_batch(intervals, monkeypatch):
    monkeypatch.setitem(PRECISIONS, "exact", Precision(torch.float32, kernels=True))
    work = task("aa-hsfl-ll", "residual", intervals=intervals, server_share=0.5)
    assert_trained_alike(reference(work), on_gpu(work, "folded", "exact"), work, 1e-3, 1e-2)


@pytest.mark.parametrize("scheme", ["sfl", "aa-hsfl-ll"])
def test_the_kernels_train_with_int8_between_the_tiers(scheme):
    work = task(scheme, "residual", wire="int8")
    assert_trained_alike(reference(work), on_gpu(work, "folded", "bf16"), work, 0.05, float("inf"))


@pytest.mark.parametrize(
    ("executor", "precision"), [("graph", "fp32"), ("graph", "bf16"), ("folded", "bf16")]
)
@pytest.mark.parametrize("intervals", [(None, None), ("batch", "batch")])
@pytest.mark.parametrize("scheme", ["dtfl", "aa-hsfl-ll"])
def test_a_state_goes_on_and_two_runs_agree_to_the_last_bit(scheme, executor, precision, intervals):
    terms = {"intervals": intervals, "optimiser": OPTIMISERS[1], "outer_momentum": 0.8}
    work = task(scheme, "normed", **terms)
    first, second, third = (on_gpu(work, executor, precision) for _ in range(3))
    for engine in (first, second):
        engine.run_round(whole(work, 0))
    third.load_state({key: value.clone() for key, value in first.to_state().items()})
    for engine in (first, second, third):
        engine.run_round(whole(work, 1))
    for other in (second, third):
        assert all(torch.equal(first.weights()[k], other.weights()[k]) for k in first.weights())
