"""`stacked` trains exactly as `reference` does, which reads like the paper."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines.instances import (
    FAMILIES,
    distance,
    placement,
    reference,
    stacked,
    task,
    whole,
)
from tiercut.cost import Placement
from tiercut.engines.optimiser import Optimiser
from tiercut.engines.task import Round
from tiercut.schemes.registry import SHIPPED

OPTIMISERS = {
    "sgd": Optimiser("sgd", 0.05),
    "momentum": Optimiser("sgd", 0.05, momentum=0.9, weight_decay=0.01),
    "adam": Optimiser("adam", 0.01, weight_decay=0.01),
}
TIGHT = 1e-11
"""Relative to the largest value of a tensor, float64, a few rounds."""
ADAM = 1e-7
"""Adam divides by the gradient's size: where that is rounding (a bias before BatchNorm), it blows
the last digits up to whole steps of the rate. Tensors that matter agree much better."""


def both(work, rounds):
    judge, fast = reference(work), stacked(work)
    for plan in rounds:
        expected, found = judge.run_round(plan), fast.run_round(plan)
        assert found.samples == expected.samples
        assert found.loss == pytest.approx(expected.loss, rel=1e-9)
        assert found.local_loss == (
            None if expected.local_loss is None else pytest.approx(expected.local_loss, rel=1e-9)
        )
    return distance(fast.weights(), judge.weights())


@pytest.mark.parametrize("optimiser", OPTIMISERS)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("scheme", SHIPPED)
def test_every_scheme_family_and_optimiser(scheme, family, optimiser):
    work = task(scheme, family, optimiser=OPTIMISERS[optimiser])
    found = both(work, [whole(work, index) for index in range(2)])
    assert found < (ADAM if optimiser == "adam" else TIGHT)


@pytest.mark.parametrize(
    "intervals", [("batch", "batch"), (2, "batch"), ("batch", 1), ("round", 2)]
)
@pytest.mark.parametrize("scheme", SHIPPED)
def test_every_scheme_and_interval(scheme, intervals):
    work = task(scheme, "normed", intervals=intervals, optimiser=OPTIMISERS["momentum"])
    assert both(work, [whole(work, index) for index in range(2)]) < TIGHT


@pytest.mark.parametrize("intervals", [("epoch", "epoch"), (2, "batch"), ("round", "round")])
@pytest.mark.parametrize(
    "layers", [((1, 1, 1, 1, 1), (2, 3, 3, 2, 3)), ((1, 2, 1, 2, 1), (3,) * 5)]
)
def test_clients_of_one_aggregator_may_differ_in_their_layers(layers, intervals):
    work = task("aa-hsfl-ll", "normed", intervals=intervals, optimiser=OPTIMISERS["momentum"])
    h, v = map(np.array, layers)
    where = Placement(h, v, np.array([0, 0, 2, 2, 2]))
    assert both(work, [whole(work, index, where) for index in range(2)]) < TIGHT


@pytest.mark.parametrize("family", FAMILIES)
def test_float32_agrees_after_one_step(family):
    """Rounding grows with every step that a ReLU or a pool flips, so one step is compared."""
    work = task("aa-hsfl-ll", family, sizes=(4, 4, 4, 4, 4), epochs=1)
    judge, fast = reference(work, torch.float32), stacked(work, precision="fp32")
    for engine in (judge, fast):
        engine.run_round(whole(work, 0))
    assert distance(fast.weights(), judge.weights()) < 1e-5


@pytest.mark.parametrize("scheme", ["sfl", "dtfl", "aa-hsfl-ll"])
def test_bfloat16_stays_near(scheme):
    work = task(scheme, "normed", sizes=(4, 4, 4, 4, 4), epochs=1)
    judge, fast = reference(work, torch.float32), stacked(work, precision="bf16")
    for engine in (judge, fast):
        engine.run_round(whole(work, 0))
    found, expected = (
        torch.cat([w.double().flatten() for w in engine.weights().values()])
        for engine in (fast, judge)
    )
    assert (found - expected).norm() / expected.norm() < 0.02


@pytest.mark.no_cover
@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_course_of_rounds(data):
    """Cuts and groups that change, clients that stay out and clients that fail half-way."""
    scheme = data.draw(st.sampled_from(sorted(SHIPPED)))
    intervals = data.draw(st.tuples(*[st.sampled_from([None, "batch", 2])] * 2))
    sizes = tuple(data.draw(st.lists(st.integers(2, 9), min_size=5, max_size=5)))
    work = task(scheme, "normed", sizes, intervals, optimiser=OPTIMISERS["momentum"])
    rounds = []
    for index in range(3):
        present = np.array(
            data.draw(
                st.lists(st.lists(st.booleans(), min_size=5, max_size=5), min_size=2, max_size=2)
            )
        )
        present[0, 0] = True
        present[1] &= present[0]
        v = data.draw(st.integers(3, 4))
        where = placement(work, data.draw(st.integers(1, v - 1)), v, [0, 0, 2, 2, 0])
        rounds.append(Round(index, where, present))
    assert both(work, rounds) < 1e-9
