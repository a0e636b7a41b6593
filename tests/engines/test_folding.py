"""Executor `folded` against the reference, on the CPU with stock operators (float64)."""

import pytest
import torch

from tests.engines.instances import FAMILIES, RAGGED, distance, reference, settings, task, whole
from tiercut.engines.build import cannot_fold
from tiercut.engines.folding import Folded
from tiercut.engines.optimiser import Optimiser
from tiercut.engines.stacked import Stacked
from tiercut.schemes.registry import SHIPPED

OPTIMISERS = [
    Optimiser("sgd", 0.05),
    Optimiser("sgd", 0.05, momentum=0.9, weight_decay=0.01),
    Optimiser("adam", 0.01),
]


def folds(family):
    return cannot_fold(task("aa-hsfl-ll", family), "fp64") is None


@pytest.mark.parametrize("sizes", [RAGGED, (8, 8, 8, 8, 8)])
@pytest.mark.parametrize("optimiser", OPTIMISERS, ids=lambda o: f"{o.kind}-{o.momentum}")
@pytest.mark.parametrize("family", [name for name in FAMILIES if folds(name)])
@pytest.mark.parametrize("scheme", SHIPPED)
def test_it_trains_as_the_reference(scheme, family, optimiser, sizes):
    work = task(scheme, family, sizes, optimiser=optimiser)
    judge, fast = reference(work), Stacked(work, settings(), Folded)
    for index in range(2):
        expected, found = (engine.run_round(whole(work, index)) for engine in (judge, fast))
    assert found.samples == expected.samples
    assert found.loss == pytest.approx(expected.loss, rel=1e-9)
    assert distance(fast.weights(), judge.weights()) < (1e-5 if optimiser.kind == "adam" else 1e-10)


def test_most_families_fold():
    assert {"normed", "residual"} <= {name for name in FAMILIES if folds(name)}


@pytest.mark.parametrize("intervals", [("batch", "batch"), (2, "batch"), ("batch", "epoch")])
@pytest.mark.parametrize("optimiser", OPTIMISERS, ids=lambda o: f"{o.kind}-{o.momentum}")
@pytest.mark.parametrize("family", ["normed", "residual"])
@pytest.mark.parametrize("scheme", ["sfl", "multihop", "aa-hsfl-ll"])
def test_it_shares_as_the_reference(scheme, family, optimiser, intervals):
    work = task(scheme, family, optimiser=optimiser, intervals=intervals)
    judge, fast = reference(work), Stacked(work, settings(), Folded)
    for index in range(2):
        expected, found = (engine.run_round(whole(work, index)) for engine in (judge, fast))
    assert found.loss == pytest.approx(expected.loss, rel=1e-9)
    assert distance(fast.weights(), judge.weights()) < (1e-5 if optimiser.kind == "adam" else 1e-10)


def test_a_model_shared_among_several_cuts_does_not_fold():
    assert "one cut layer" in cannot_fold(task("dtfl", "normed", intervals=(None, "batch")), "fp32")


def test_a_state_goes_on():
    work = task("aa-hsfl-ll", "normed", optimiser=OPTIMISERS[2])
    first = Stacked(work, settings(), Folded)
    first.run_round(whole(work, 0))
    second = Stacked(work, settings(), Folded)
    second.load_state({key: value.clone() for key, value in first.to_state().items()})
    for engine in (first, second):
        engine.run_round(whole(work, 1))
    assert all(torch.equal(first.weights()[k], second.weights()[k]) for k in first.weights())
