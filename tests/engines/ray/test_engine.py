"""Engine `ray` trains as `stacked` does, on any number of workers and whoever of them is lost."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines.instances import distance, placement, stacked, task, whole
from tests.engines.ray.here import Here, sharded
from tests.engines.test_parity import OPTIMISERS, TIGHT
from tiercut.engines.ray.crew import FAN_IN
from tiercut.engines.task import Round
from tiercut.errors import InputError, TiercutError
from tiercut.schemes.registry import SHIPPED

WORKERS = (1, 2, 3)


def both(work, rounds, workers):
    judge, engine = stacked(work), sharded(work, workers)
    for plan in rounds:
        expected, found = judge.run_round(plan), engine.run_round(plan)
        assert found.samples == expected.samples
        assert found.loss == pytest.approx(expected.loss, rel=1e-9)
        assert (found.local_loss is None) == (expected.local_loss is None)
    return distance(engine.weights(), judge.weights())


@pytest.mark.parametrize("scheme", SHIPPED)
def test_every_scheme(scheme):
    work = task(scheme, "normed", optimiser=OPTIMISERS["momentum"])
    rounds = [whole(work, index) for index in range(2)]
    assert both(work, rounds, 1) == 0
    assert both(work, rounds, 3) < TIGHT


def test_rounds_of_a_portion():
    work = task("aa-hsfl-ll", "normed", portions=2)
    assert both(work, [whole(work, index) for index in range(3)], 3) < TIGHT


@pytest.mark.parametrize("interval", ["batch", "epoch"])
def test_a_server_that_sees_a_share(interval):
    work = task("aa-hsfl-ll", "normed", intervals=(None, interval), server_share=0.5)
    assert both(work, [whole(work, index) for index in range(2)], 3) < TIGHT


def test_rounds_that_start_ahead():
    work = task("aa-hsfl-ll", "normed", outer_momentum=0.8)
    assert both(work, [whole(work, index) for index in range(3)], 3) < TIGHT


@pytest.mark.parametrize("workers", WORKERS)
def test_who_stays_out_keeps_what_its_host_learned_without_it(workers):
    """The server's layer 4 is one model. Who trained it last leaves it; then it comes back."""
    optimiser = OPTIMISERS["momentum"]
    work = task("aa-hsfl-ll", "plain", intervals=(None, "batch"), optimiser=optimiser)
    rounds = []
    for index, (v, there) in enumerate([(3, [0, 4]), (4, [0]), (3, [0, 3])]):
        present = np.zeros((2, 5), dtype=bool)
        present[0, there] = True
        present[1, 0] = index == 0
        rounds.append(Round(index, placement(work, 1, v), present))
    assert both(work, rounds, workers) < TIGHT


@pytest.mark.no_cover
@settings(max_examples=12, deadline=None)
@given(st.data())
def test_any_course_of_rounds(data):
    """Cuts and groups that change, clients that stay out and clients that fail half-way."""
    scheme = data.draw(st.sampled_from(sorted(SHIPPED)))
    family = data.draw(st.sampled_from(["plain", "normed"]))
    intervals = data.draw(st.tuples(*[st.sampled_from([None, "batch", "round", 2])] * 2))
    optimiser = OPTIMISERS[data.draw(st.sampled_from(["sgd", "momentum"]))]
    sizes = tuple(data.draw(st.lists(st.integers(2, 9), min_size=5, max_size=5)))
    work = task(scheme, family, sizes, intervals, optimiser=optimiser)
    rounds = []
    for index in range(3):
        flags = st.lists(st.booleans(), min_size=5, max_size=5)
        present = np.array(data.draw(st.lists(flags, min_size=2, max_size=2)))
        present[0, 0] = True
        present[1] &= present[0]
        v = data.draw(st.integers(3, 4))
        groups = data.draw(st.sampled_from([[0, 0, 2, 2, 0], [0, 1, 1, 3, 3]]))
        where = placement(work, data.draw(st.integers(1, v - 1)), v, groups)
        rounds.append(Round(index, where, present))
    workers = data.draw(st.sampled_from(WORKERS))
    assert both(work, rounds, workers) < (1e-9 if workers > 1 else 1e-30)


def test_float32_agrees_after_one_step():
    work = task("aa-hsfl-ll", "normed", sizes=(4, 4, 4, 4, 4), epochs=1)
    judge, engine = stacked(work, precision="fp32"), sharded(work, 3, precision="fp32")
    for each in (judge, engine):
        each.run_round(whole(work, 0))
    assert distance(engine.weights(), judge.weights()) < 1e-5


def test_many_workers_combine_in_a_tree():
    count = FAN_IN + 2
    work = task("locsfl", "normed", sizes=(4,) * count, epochs=1)
    here = Here()
    judge, engine = stacked(work), sharded(work, count, here=here)
    for each in (judge, engine):
        each.run_round(whole(work, 0))
    assert here.calls.count("combine") == 2 + 1 + 2  # of an epoch, and half of it at the end
    assert distance(engine.weights(), judge.weights()) < TIGHT


# -------------------------------------------------------------------------------------- what moves


def calls_of(work, plans, **options):
    """The calls of every round but the first."""
    here = Here()
    engine = sharded(work, 2, here=here, **options)
    engine.run_round(plans[0])
    first = len(here.calls)
    for plan in plans[1:]:
        engine.run_round(plan)
    assert all(stored.is_intact for stored in here.stored)
    return here.calls[first:]


def test_moments_stay_on_workers_while_clients_do():
    work = task(optimiser=OPTIMISERS["momentum"])
    assert "park" not in calls_of(work, [whole(work, index) for index in range(3)])


def test_moments_are_parked_when_groups_change():
    work = task(optimiser=OPTIMISERS["momentum"])
    other = placement(work, aggregator_of=[0, 1, 1, 1, 0])
    assert "park" in calls_of(work, [whole(work, 0), whole(work, 1, other)])


def test_one_model_on_a_host_needs_no_parking():
    work = task("sfl", "normed", intervals=(None, "batch"), optimiser=OPTIMISERS["momentum"])
    assert "park" not in calls_of(work, [whole(work, index) for index in range(3)])


def test_without_moments_there_is_nothing_to_park():
    work = task()
    other = placement(work, aggregator_of=[0, 1, 1, 1, 0])
    calls = calls_of(work, [whole(work, 0), whole(work, 1, other)])
    assert "park" not in calls


def test_states_are_kept_after_every_epoch_or_never():
    work = task(optimiser=OPTIMISERS["momentum"])
    plans = [whole(work, index) for index in range(2)]
    assert calls_of(work, plans).count("snapshot") == work.epochs * 2
    assert calls_of(work, plans, share=0).count("snapshot") == 0


# ------------------------------------------------------------------------------------------ losses


def course(work):
    """Rounds in which clients stay, move, stay out and fail."""
    everybody = whole(work, 0)
    some = np.array([[True, True, False, True, True], [True, False, False, True, True]])
    return [
        everybody,
        whole(work, 1),
        whole(work, 2, placement(work, aggregator_of=[0, 1, 1, 1, 0])),
        Round(3, everybody.placement, some),
    ]


def after(engine, plans):
    """An engine's state after some rounds."""
    for plan in plans:
        engine.run_round(plan)
    return engine.to_state()


@pytest.mark.parametrize("share", [0, float("inf")])
@pytest.mark.parametrize("intervals", [(None, None), ("batch", "batch"), (None, 1)])
def test_whatever_call_is_lost_the_weights_are_the_same(share, intervals):
    work = task("aa-hsfl-ll", "plain", intervals=intervals, optimiser=OPTIMISERS["momentum"])
    undisturbed = Here()
    expected = after(sharded(work, 2, here=undisturbed, share=share), course(work))
    losses = frozenset(range(3, len(undisturbed.calls), 17))
    disturbed = sharded(work, 2, here=Here(losses), share=share)
    with pytest.warns(UserWarning, match="was lost"):
        found = after(disturbed, course(work))
    same_bits(expected, found)


def same_bits(expected, found):
    assert expected.keys() == found.keys()
    assert all(torch.equal(expected[key], found[key]) for key in expected)


def test_without_what_was_kept_the_run_ends():
    """Better than to go on with a state that is not the one that was lost."""
    work = task("multihop", "plain", optimiser=OPTIMISERS["momentum"])
    undisturbed = Here()
    after(sharded(work, 2, here=undisturbed), course(work)[:1])
    second_epoch = undisturbed.calls.index("snapshot") + 2
    here = Here(frozenset([second_epoch]), with_objects=True)
    engine = sharded(work, 2, here=here)
    with (
        pytest.warns(UserWarning, match="worker 1 was lost"),
        pytest.raises(TiercutError, match="went with a machine"),
    ):
        engine.run_round(whole(work, 0))
    assert here.calls[-1] == "restore"


def test_a_worker_that_is_lost_again_and_again_ends_the_run():
    work = task()
    engine = sharded(work, 2, here=Here(frozenset(range(6, 1000))))
    with (
        pytest.warns(UserWarning, match="worker 1 was lost"),
        pytest.raises(TiercutError, match=r"lost 3 times in a row .* --resume"),
    ):
        engine.run_round(whole(work, 0))


# ------------------------------------------------------------------------------------------ states


@pytest.mark.parametrize("optimiser", OPTIMISERS)
@pytest.mark.parametrize("intervals", [(None, None), ("batch", "batch")])
def test_a_state_goes_on_in_either_engine(optimiser, intervals):
    changes = {"intervals": intervals, "optimiser": OPTIMISERS[optimiser], "outer_momentum": 0.8}
    work = task("dtfl", "normed", **changes)
    engines = {"stacked": lambda: stacked(work), "ray": lambda: sharded(work, 1)}
    results = []
    for before, after in itertools.product(engines, engines):
        first, second = engines[before](), engines[after]()
        first.run_round(whole(work, 0))
        second.load_state({key: value.clone() for key, value in first.to_state().items()})
        second.run_round(whole(work, 1))
        results.append(second.to_state())
    for found in results[1:]:
        same_bits(results[0], found)


def test_going_on_from_a_state_changes_nothing():
    work = task("dtfl", "normed", optimiser=OPTIMISERS["adam"])
    first, second = sharded(work, 3), sharded(work, 3)
    first.run_round(whole(work, 0))
    second.load_state({key: value.clone() for key, value in first.to_state().items()})
    for engine in (first, second):
        engine.run_round(whole(work, 1))
    same_bits(first.to_state(), second.to_state())


def test_before_the_first_round_the_weights_are_those_of_the_model():
    work = task()
    assert distance(sharded(work, 2).weights(), stacked(work).weights()) == 0


def test_what_a_worker_refuses_is_refused():
    work = task("hsfl-ll", "plain", intervals=("batch", None))
    where = placement(work)
    where.aggregator_layers[:] = [1, 2, 1, 2, 1]
    with pytest.raises(InputError, match="one aggregator layer"):
        sharded(work, 2).run_round(whole(work, 0, where))
