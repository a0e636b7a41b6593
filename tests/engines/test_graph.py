"""Executor `graph` on a real GPU; without one there is nothing to test."""

import pytest
import torch

from tests.engines.instances import FAMILIES, distance, reference, task, whole
from tiercut.engines.executor import Settings
from tiercut.engines.graph import Graph
from tiercut.engines.optimiser import Optimiser
from tiercut.engines.stacked import Stacked

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")

OPTIMISERS = [Optimiser("sgd", 0.05, momentum=0.9), Optimiser("adam", 0.01)]


def on_gpu(work, precision="fp64"):
    return Stacked(work, Settings(torch.device("cuda"), precision), Graph)


@pytest.mark.parametrize("optimiser", OPTIMISERS, ids=lambda o: o.kind)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("intervals", [(None, None), ("batch", "batch"), (2, 2)])
@pytest.mark.parametrize("scheme", ["sfl", "dtfl", "aa-hsfl-ll"])
def test_it_trains_as_the_reference(scheme, intervals, family, optimiser):
    work = task(scheme, family, intervals=intervals, optimiser=optimiser)
    judge, fast = reference(work), on_gpu(work)
    for index in range(2):
        expected, found = (engine.run_round(whole(work, index)) for engine in (judge, fast))
    assert found.samples == expected.samples
    assert found.loss == pytest.approx(expected.loss, rel=1e-6)
    weights = {key: value.cpu() for key, value in fast.weights().items()}
    assert distance(weights, judge.weights()) < (1e-4 if optimiser.kind == "adam" else 1e-8)


def test_two_runs_agree_to_the_last_bit():
    work = task("aa-hsfl-ll", "normed", optimiser=OPTIMISERS[1])
    runs = []
    for _ in range(2):
        engine = on_gpu(work, "fp32")
        for index in range(2):
            engine.run_round(whole(work, index))
        runs.append(engine.weights())
    assert all(torch.equal(runs[0][key], runs[1][key]) for key in runs[0])
