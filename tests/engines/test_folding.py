"""Executor `folded` against the reference, on the CPU with stock operators (float64)."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from tests.engines.instances import (
    FOLDING,
    RAGGED,
    distance,
    reference,
    settings,
    stacked,
    task,
    whole,
)
from tiercut.cost import Placement
from tiercut.engines.folded.precision import PRECISIONS, Precision
from tiercut.engines.folding import Folded
from tiercut.engines.optimiser import Optimiser
from tiercut.engines.stacked import Stacked
from tiercut.engines.task import Round
from tiercut.schemes.registry import SHIPPED

OPTIMISERS = [
    Optimiser("sgd", 0.05),
    Optimiser("sgd", 0.05, momentum=0.9, weight_decay=0.01),
    Optimiser("adam", 0.01),
]
CUTS = [(1, 3, 1, 3, 1), (1, 2, 3, 4, 2), (4, 2, 2, 1, 4)]


def assert_trained_alike(work, rounds, tight=1e-10, judge=reference):
    """Adam makes whole steps of the rounding in a gradient that is zero."""
    judge, fast = judge(work), Stacked(work, settings(), Folded)
    for plan in rounds:
        expected, found = (engine.run_round(plan) for engine in (judge, fast))
        assert found.samples == expected.samples
        assert found.loss == pytest.approx(expected.loss, rel=1e-9)
        assert found.local_loss == (
            None if expected.local_loss is None else pytest.approx(expected.local_loss, rel=1e-9)
        )
    assert distance(fast.weights(), judge.weights()) < (
        1e-5 if work.optimiser.kind == "adam" else tight
    )


@pytest.mark.parametrize("sizes", [RAGGED, (8, 8, 8, 8, 8)])
@pytest.mark.parametrize("optimiser", OPTIMISERS, ids=lambda o: f"{o.kind}-{o.momentum}")
@pytest.mark.parametrize("family", FOLDING)
@pytest.mark.parametrize("scheme", SHIPPED)
def test_it_trains_as_the_reference(scheme, family, optimiser, sizes):
    work = task(scheme, family, sizes, optimiser=optimiser)
    assert_trained_alike(work, [whole(work, index) for index in range(2)])


@pytest.mark.parametrize("intervals", [("batch", "batch"), (2, "batch"), ("batch", "epoch")])
@pytest.mark.parametrize("optimiser", OPTIMISERS, ids=lambda o: f"{o.kind}-{o.momentum}")
@pytest.mark.parametrize("family", ["normed", "residual"])
@pytest.mark.parametrize("scheme", ["sfl", "multihop", "aa-hsfl-ll"])
def test_it_shares_as_the_reference(scheme, family, optimiser, intervals):
    work = task(scheme, family, optimiser=optimiser, intervals=intervals)
    assert_trained_alike(work, [whole(work, index) for index in range(2)])


@pytest.mark.parametrize("intervals", [("batch", "batch"), (None, "batch")])
@pytest.mark.parametrize("optimiser", OPTIMISERS, ids=lambda o: f"{o.kind}-{o.momentum}")
@pytest.mark.parametrize("family", FOLDING)
@pytest.mark.parametrize("cuts", CUTS, ids=str)
def test_clients_of_several_cuts_share_as_the_reference(cuts, family, optimiser, intervals):
    work = task("dtfl", family, optimiser=optimiser, intervals=intervals)
    where = Placement.two_tiers(cuts)
    assert_trained_alike(work, [whole(work, index, where) for index in range(2)], 1e-9)


@pytest.mark.parametrize("wire", ["bf16", "int8"])
@pytest.mark.parametrize("cuts", CUTS, ids=str)
def test_clients_of_several_cuts_share_what_has_travelled(cuts, wire):
    work = task("dtfl", "normed", intervals=(None, "batch"), wire=wire)
    where = Placement.two_tiers(cuts)
    assert_trained_alike(work, [whole(work, index, where) for index in range(2)], 1e-9)


@pytest.mark.no_cover
@pytest.mark.parametrize("family", ["dropping", "normed"])
def test_the_kernels_share_among_several_cuts(family, monkeypatch):
    """In Triton's interpreter: gradients of a layer lie in one order, whichever chain it is in."""
    pytest.importorskip("triton")
    monkeypatch.setitem(PRECISIONS, "exact", Precision(torch.float32, kernels=True))
    work = task("dtfl", family, (4, 3, 6), (None, "batch"), epochs=1, optimiser=OPTIMISERS[1])
    judge, fast = reference(work), Stacked(work, settings(precision="exact"), Folded)
    for engine in (judge, fast):
        engine.run_round(whole(work, 0, Placement.two_tiers([1, 2, 3])))
    assert distance(fast.weights(), judge.weights()) < 1e-5


@pytest.mark.no_cover
@pytest.mark.parametrize("optimiser", OPTIMISERS[1:], ids=lambda o: o.kind)
def test_the_kernels_leave_everybody_the_models_that_are_shared(optimiser, monkeypatch):
    """In Triton's interpreter: within an epoch only a model's first client has all of it."""
    pytest.importorskip("triton")
    monkeypatch.setitem(PRECISIONS, "exact", Precision(torch.float32, kernels=True))
    work = task(
        "aa-hsfl-ll", "normed", (6, 5, 7), ("batch", "batch"), epochs=1, optimiser=optimiser
    )
    # The first two share an aggregator, the server has one model for all.
    where = Placement.three_tiers(1, 2, [0, 0, 2])
    judge, fast = reference(work), Stacked(work, settings(precision="exact"), Folded)
    expected, found = (engine.run_round(whole(work, 0, where)) for engine in (judge, fast))
    assert found.loss == pytest.approx(expected.loss, rel=1e-4)
    assert distance(fast.weights(), judge.weights()) < 1e-4
    stack, (_, aggregated, *served) = fast.stack, work.model.layer_names
    for layers, rows in (([aggregated], 2), (served, 3)):
        for key in stack.keys_of(layers):
            for values in (stack.weights[key], *stack.moments.get(key, {}).values()):
                assert (values[:rows] == values[0]).all()


@pytest.mark.no_cover
@pytest.mark.parametrize("intervals", [(None, None), ("batch", "batch")])
def test_the_kernels_train_the_server_on_a_share(intervals, monkeypatch):
    """In Triton's interpreter: the last layers read fewer samples than the first."""
    pytest.importorskip("triton")
    monkeypatch.setitem(PRECISIONS, "exact", Precision(torch.float32, kernels=True))
    terms = {"epochs": 1, "optimiser": OPTIMISERS[1], "server_share": 0.5}
    work = task("aa-hsfl-ll", "normed", (6, 5, 7), intervals, **terms)
    where = Placement.three_tiers(1, 2, [0, 0, 2])
    judge, fast = reference(work), Stacked(work, settings(precision="exact"), Folded)
    expected, found = (engine.run_round(whole(work, 0, where)) for engine in (judge, fast))
    assert found.loss == pytest.approx(expected.loss, rel=1e-4)
    assert distance(fast.weights(), judge.weights()) < 1e-4


def test_shared_layers_of_several_cuts_are_one_model():
    """Weights, statistics and moments are alike in all rows that have a layer at the server."""
    work = task("dtfl", "normed", optimiser=OPTIMISERS[2], intervals=(None, "batch"))
    fast = Stacked(work, settings(), Folded)
    fast.run_round(whole(work, 0, Placement.two_tiers([1, 2, 3, 2, 1])))
    stack = fast.stack
    for number, layer in enumerate(work.model.layer_names, start=1):
        at_server = sum(cut < number for cut in (1, 1, 2, 2, 3))
        for key in stack.keys_of([layer]):
            for values in (stack.weights[key], *stack.moments.get(key, {}).values()):
                assert all(torch.equal(values[row], values[0]) for row in range(at_server))
                if at_server < 5 and values.dim() > 1:
                    assert not torch.equal(values[4], values[0])


@pytest.mark.no_cover
@examples(max_examples=15, deadline=None)
@given(st.data())
def test_any_course_of_rounds_with_shared_layers(data):
    """Cuts that change, clients that stay out and clients that fail half-way.

    Also three tiers with a cut per client, where the server and aggregators share the same layer.
    No scheme has that, and in the reference an aggregator speaks at a round's end for all of its
    clients with the layers of the first: the executor threads is the judge.
    """
    scheme, judge = data.draw(st.sampled_from([("dtfl", reference), ("aa-hsfl-ll", stacked)]))
    intervals = data.draw(st.sampled_from([("batch", "batch"), (None, "batch"), ("batch", 2)]))
    sizes = tuple(data.draw(st.lists(st.integers(2, 9), min_size=5, max_size=5)))
    work = task(scheme, "normed", sizes, intervals, optimiser=OPTIMISERS[1])
    rounds = []
    for index in range(3):
        here = st.lists(st.booleans(), min_size=5, max_size=5)
        present = np.array(data.draw(st.lists(here, min_size=2, max_size=2)))
        present[0, 0] = True
        present[1] &= present[0]
        cuts = data.draw(st.lists(st.integers(2, 4), min_size=5, max_size=5))
        where = Placement.two_tiers(cuts)
        if scheme != "dtfl":
            where = Placement(np.full(5, 1), np.array(cuts), np.array([0, 0, 2, 2, 0]))
        rounds.append(Round(index, where, present))
    assert_trained_alike(work, rounds, 1e-9, judge)


def test_a_state_goes_on():
    work = task("aa-hsfl-ll", "normed", optimiser=OPTIMISERS[2])
    first = Stacked(work, settings(), Folded)
    first.run_round(whole(work, 0))
    second = Stacked(work, settings(), Folded)
    second.load_state({key: value.clone() for key, value in first.to_state().items()})
    for engine in (first, second):
        engine.run_round(whole(work, 1))
    assert all(torch.equal(first.weights()[k], second.weights()[k]) for k in first.weights())
