"""Executors `graph` and `folded` on a real GPU; without one there is nothing to test."""

import pytest
import torch

from tests.engines.instances import FAMILIES, distance, reference, task, whole
from tiercut.engines.build import cannot_fold
from tiercut.engines.executor import Settings
from tiercut.engines.folding import Folded
from tiercut.engines.graph import Graph
from tiercut.engines.optimiser import Optimiser
from tiercut.engines.stacked import Stacked

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")

OPTIMISERS = [Optimiser("sgd", 0.05, momentum=0.9), Optimiser("adam", 0.01)]
EXECUTORS = {"graph": Graph, "folded": Folded}


def on_gpu(work, executor, precision="fp64"):
    """The engine on the GPU; a task that `folded` does not take is no test of it."""
    if executor == "folded" and (obstacle := cannot_fold(work, precision)):
        pytest.skip(obstacle)
    return Stacked(work, Settings(torch.device("cuda"), precision), EXECUTORS[executor])


def weights(engine):
    return {key: value.cpu() for key, value in engine.weights().items()}


def assert_trained_alike(judge, fast, work, tolerance):
    for index in range(2):
        expected, found = (engine.run_round(whole(work, index)) for engine in (judge, fast))
    assert found.samples == expected.samples
    assert found.loss == pytest.approx(expected.loss, rel=max(1e-6, tolerance / 10))
    assert distance(weights(fast), judge.weights()) < tolerance


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("optimiser", OPTIMISERS, ids=lambda o: o.kind)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("intervals", [(None, None), ("batch", "batch"), (2, 2)])
@pytest.mark.parametrize("scheme", ["sfl", "dtfl", "aa-hsfl-ll"])
def test_they_train_as_the_reference(scheme, intervals, family, optimiser, executor):
    work = task(scheme, family, intervals=intervals, optimiser=optimiser)
    tolerance = 1e-4 if optimiser.kind == "adam" else 1e-8
    assert_trained_alike(reference(work), on_gpu(work, executor), work, tolerance)


@pytest.mark.parametrize("intervals", [(None, None), ("batch", "batch")])
@pytest.mark.parametrize("family", ["normed", "residual"])
def test_the_kernels_train_almost_as_the_reference(family, intervals):
    work = task("aa-hsfl-ll", family, intervals=intervals)
    assert_trained_alike(reference(work), on_gpu(work, "folded", "bf16"), work, 0.1)


@pytest.mark.parametrize("wire", ["bf16", "int8"])
@pytest.mark.parametrize("scheme", ["sfl", "aa-hsfl-ll"])
def test_what_travels_is_rounded_as_by_the_reference(scheme, wire):
    work = task(scheme, "normed", wire=wire)
    assert_trained_alike(reference(work), on_gpu(work, "graph"), work, 1e-8)


@pytest.mark.parametrize(
    ("executor", "precision"), [("graph", "fp32"), ("graph", "bf16"), ("folded", "bf16")]
)
@pytest.mark.parametrize("intervals", [(None, None), ("batch", "batch")])
def test_a_state_goes_on_and_two_runs_agree_to_the_last_bit(executor, precision, intervals):
    work = task("aa-hsfl-ll", "normed", intervals=intervals, optimiser=OPTIMISERS[1])
    first, second, third = (on_gpu(work, executor, precision) for _ in range(3))
    for engine in (first, second):
        engine.run_round(whole(work, 0))
    third.load_state({key: value.clone() for key, value in first.to_state().items()})
    for engine in (first, second, third):
        engine.run_round(whole(work, 1))
    for other in (second, third):
        assert all(torch.equal(first.weights()[k], other.weights()[k]) for k in first.weights())
