"""Tuning: nobody is measured on what was trained on, and the best setting is chosen."""

import numpy as np
import pytest

from tests.compare.instances import carry_out, comparison
from tiercut.compare.tuning import trials
from tiercut.errors import InputError
from tiercut.measure.results import read_results
from tiercut.measure.tuning import Aim, Found, Tried, read_tuning

TIME, BYTES = Aim("time-to-accuracy", 0.5), Aim("bytes-to-accuracy", 0.5)


def rates(*values):
    return {f"rate-{value}": {"training.rate": value} for value in values}


def test_clients_are_measured_on_what_they_give_up():
    usual = comparison()
    trial = trials(usual, {"sfl": rates(0.5)})["rate-0.5"]
    (job, *_) = trial.jobs
    whole, held = usual.setting(job), trial.setting(job)
    assert held.scenario.training.rate == 0.5
    kept = np.concatenate(held.task.shards)
    given = np.setdiff1d(np.concatenate(whole.task.shards), kept)
    assert len(given) == sum(len(shard) // 10 for shard in whole.task.shards)
    np.testing.assert_array_equal(held.test.labels, whole.task.examples.labels[given])
    np.testing.assert_array_equal(held.test.images, whole.task.examples.images[given])
    assert held.fleet.examples.tolist() == [len(shard) for shard in held.task.shards]


def test_a_trial_has_the_schemes_that_are_tried_so_and_what_they_have_of_their_own():
    usual = comparison(overrides={"sfl": {"plan.cuts": [3]}})
    tried = trials(usual, {"sfl": rates(0.1, 0.2), "aa-hsfl-ll": rates(0.2, 0.3)})
    assert {label: tuple(trial.schemes) for label, trial in tried.items()} == {
        "rate-0.1": ("sfl",),
        "rate-0.2": ("sfl", "aa-hsfl-ll"),
        "rate-0.3": ("aa-hsfl-ll",),
    }
    assert tried["rate-0.2"].overrides == {
        "sfl": {"plan.cuts": [3], "training.rate": 0.2},
        "aa-hsfl-ll": {"training.rate": 0.2},
    }


def test_what_is_tried_is_not_given_too():
    usual = comparison(overrides={"sfl": {"training.rate": 1.0}})
    with pytest.raises(InputError, match=r"leave --override sfl:training.rate away"):
        trials(usual, {"sfl": rates(0.1)})


def test_time_and_bytes_are_those_of_the_first_round_that_has_the_accuracy(tmp_path):
    settings = {"sfl": rates(0.01)}
    for label, trial in trials(comparison(seeds=(0,)), settings).items():
        carry_out(trial, tmp_path / label)
    first = read_results(tmp_path / "rate-0.01").contenders[0].runs[0].points[0]
    (tried,) = read_tuning(tmp_path, settings, Aim("time-to-accuracy", 0.0))["sfl"].tried.values()
    assert (tried.seconds, tried.bytes) == (first.seconds, first.bytes)
    (tried,) = read_tuning(tmp_path, settings, Aim("time-to-accuracy", 1.0))["sfl"].tried.values()
    assert (tried.seconds, tried.bytes) == (None, None)


@pytest.mark.parametrize(
    ("aim", "tried", "best", "edge"),
    [
        (Aim(), {1: (0.5,), 2: (0.9,), 3: (0.7,)}, 2, []),
        (Aim(), {1: (0.9,), 2: (0.9,), 3: (None,)}, 1, ["training.rate"]),
        (Aim(), {1: (0.9,)}, 1, []),
        (Aim(), {1: (None,), 2: (None,)}, None, None),
        (TIME, {1: (0.9, 7.0, 1.0), 2: (0.5, 6.0, 2.0), 3: (0.4, None, None)}, 2, []),
        (BYTES, {1: (0.9, 7.0, 1.0), 2: (0.5, 6.0, 2.0)}, 1, ["training.rate"]),
        (TIME, {1: (0.4, None, None)}, None, None),
        (Aim(), {0: (0.9,), 1: (0.8,)}, 0, []),
    ],
)
def test_the_best_is_the_first_of_those_that_do_what_is_aimed_at(aim, tried, best, edge):
    found = Found("x", {str(n): Tried({"training.rate": n}, *t) for n, t in tried.items()}, aim)
    assert found.best == (None if best is None else str(best))
    if best is not None:
        assert found.own == {"training.rate": best}
        assert list(found.at_the_edge) == edge


def test_words_and_numbers_may_be_tried_of_one_key():
    each = {str(value): Tried({"x": value}, 0.5) for value in (4, "batch", 8)}
    assert list(Found("x", each).at_the_edge) == ["x"]
    del each["8"]
    assert list(Found("x", each).at_the_edge) == []
