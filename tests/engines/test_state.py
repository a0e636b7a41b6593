"""A saved state goes on as if nothing had happened, to the last bit."""

import pytest
import torch

from tests.engines.instances import reference, stacked, task, whole
from tiercut.engines.optimiser import Optimiser


@pytest.mark.parametrize("make", [reference, stacked])
@pytest.mark.parametrize(
    ("intervals", "ahead"), [((None, None), 0.0), ((None, None), 0.8), (("batch", "batch"), 0.8)]
)
@pytest.mark.parametrize(
    "optimiser", [Optimiser("sgd", 0.1), Optimiser("sgd", 0.1, 0.9), Optimiser()]
)
@pytest.mark.parametrize("scheme", ["sfl", "dtfl", "aa-hsfl-ll"])
def test_a_restarted_engine_agrees(scheme, optimiser, intervals, ahead, make):
    terms = {"optimiser": optimiser, "intervals": intervals, "outer_momentum": ahead}
    work = task(scheme, "normed", **terms)
    first = make(work)
    first.run_round(whole(work, 0))
    saved = {key: value.clone() for key, value in first.to_state().items()}
    second = make(work)
    second.load_state(saved)
    for engine in (first, second):
        engine.run_round(whole(work, 1))
    expected, found = first.to_state(), second.to_state()
    assert expected.keys() == found.keys()
    assert all(torch.equal(expected[key], found[key]) for key in expected)
    assert all(torch.equal(first.weights()[key], second.weights()[key]) for key in first.weights())


def test_stacked_states_can_be_written_as_they_are():
    work = task("dtfl", "normed")
    engine = stacked(work)
    engine.run_round(whole(work, 0))
    assert all(value.is_contiguous() for value in engine.to_state().values())
