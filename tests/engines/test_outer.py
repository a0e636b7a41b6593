"""Rounds that start ahead: against torch's own momentum, and the same in every engine."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.engines.instances import distance, placement, reference, settings, stacked, task, whole
from tests.engines.test_parity import OPTIMISERS, TIGHT, both
from tiercut.cost import Placement
from tiercut.engines.folding import Folded
from tiercut.engines.outer import ahead
from tiercut.engines.stacked import Stacked
from tiercut.engines.task import Round
from tiercut.engines.tiers import Tiers
from tiercut.schemes.registry import SHIPPED

FAR = 0.8
ONE_MODEL = ("batch", "batch")


@given(st.floats(0, 0.99), st.lists(st.floats(-9, 9), min_size=1, max_size=6))
def test_it_is_nesterov_s_as_torch_has_it(momentum, moves):
    """In a round the model moves by plain descent; torch's point is where the next one starts."""
    point = torch.nn.Parameter(torch.zeros(1, dtype=torch.float64))
    judge = torch.optim.SGD([point], lr=1, momentum=momentum, nesterov=momentum > 0)
    start, before = {"w": torch.zeros(1, dtype=torch.float64)}, torch.zeros(1, dtype=torch.float64)
    for move in moves:
        point.grad = torch.tensor([-move], dtype=torch.float64)
        judge.step()
        came_to = start["w"] + move
        start = ahead({"w": came_to}, {"w": before}, momentum)
        before = came_to
        assert torch.allclose(start["w"], point.detach(), rtol=1e-9, atol=1e-9)


def test_what_has_no_before_is_not_moved():
    assert ahead({"w": torch.ones(1)}, {}, 0.9) == {}


@pytest.mark.parametrize("intervals", [(None, None), ONE_MODEL, ("round", 2)])
@pytest.mark.parametrize("scheme", SHIPPED)
def test_stacked_trains_as_the_reference(scheme, intervals):
    optimiser = OPTIMISERS["momentum"]
    work = task(scheme, "normed", intervals=intervals, optimiser=optimiser, outer_momentum=FAR)
    assert both(work, [whole(work, index) for index in range(3)]) < TIGHT


def test_also_where_clients_come_and_go_and_cuts_change():
    work = task("aa-hsfl-ll", "normed", intervals=ONE_MODEL, outer_momentum=FAR)
    some = np.array([[True, True, False, True, True], [True, False, False, True, True]])
    alone = np.array([[True, False, False, False, False]] * 2)
    rounds = [
        whole(work, 0),
        Round(1, placement(work, 1, 4), some),
        Round(2, placement(work), alone),
        whole(work, 3),
    ]
    assert both(work, rounds) < TIGHT


def test_folded_trains_as_the_reference():
    work = task("aa-hsfl-ll", "normed", intervals=ONE_MODEL, outer_momentum=FAR)
    judge, fast = reference(work), Stacked(work, settings(), Folded)
    for index in range(3):
        for engine in (judge, fast):
            engine.run_round(whole(work, index))
    assert distance(fast.weights(), judge.weights()) < 1e-9


def trained(rounds, **changes):
    work = task("aa-hsfl-ll", "normed", intervals=ONE_MODEL, **changes)
    engine = stacked(work)
    for index in range(rounds):
        engine.run_round(whole(work, index))
    return engine


def test_what_a_round_came_to_is_the_model_wherever_the_next_one_starts():
    plain, far = trained(1).weights(), trained(1, outer_momentum=FAR).weights()
    assert all(torch.equal(plain[key], far[key]) for key in plain)
    assert distance(trained(2).weights(), trained(2, outer_momentum=FAR).weights()) > 1e-6


def test_neither_one_model_at_the_server_nor_running_statistics_are_moved():
    engine = trained(1, outer_momentum=FAR)
    # Layers 1 to 3 are below the cut, each a convolution and a BatchNorm.
    names = {f"layer{n}.{module}" for n in (1, 2, 3) for module in (0, 1)} | {"head@3.1"}
    assert engine.stack.before.keys() == {
        f"{n}.{part}" for n in names for part in ("weight", "bias")
    }


def test_what_is_one_model():
    work = task("aa-hsfl-ll", "normed", intervals=ONE_MODEL)
    layers = work.model.layer_names
    two_groups = Tiers(work, whole(work, 0)).several
    assert two_groups == {*layers[:3], "head@3"}
    one_group = whole(work, 0, Placement.three_tiers(2, 3, [0] * 5))
    assert Tiers(work, one_group).several == {*layers[:2]}
    often = task("aa-hsfl-ll", "normed", intervals=("epoch", 1))
    assert Tiers(often, one_group).several == {*layers, "head@3"}
    alone = Round(0, placement(work), np.array([[True, False, False, False, False]] * 2))
    assert Tiers(often, alone).several == set()
