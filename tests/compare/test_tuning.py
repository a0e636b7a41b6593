"""Tuning: nobody is measured on what was trained on, and the best rate is chosen."""

import numpy as np
import pytest

from tests.compare.instances import comparison
from tiercut.compare.tuning import Found, trials


def test_clients_are_measured_on_what_they_give_up():
    usual = comparison()
    trial = trials(usual, [0.5])[0.5]
    job = usual.jobs[0]
    whole, held = usual.setting(job), trial.setting(job)
    assert trial.scenario.training.rate == 0.5
    kept = np.concatenate(held.task.shards)
    given = np.setdiff1d(np.concatenate(whole.task.shards), kept)
    assert len(given) == sum(len(shard) // 10 for shard in whole.task.shards)
    np.testing.assert_array_equal(held.test.labels, whole.task.examples.labels[given])
    np.testing.assert_array_equal(held.test.images, whole.task.examples.images[given])
    assert held.fleet.examples.tolist() == [len(shard) for shard in held.task.shards]


@pytest.mark.parametrize(
    ("accuracy", "best", "edge"),
    [
        ({1e-4: 0.5, 1e-3: 0.9, 1e-2: 0.7}, 1e-3, False),
        ({1e-4: 0.9, 1e-3: 0.9, 1e-2: None}, 1e-4, True),
        ({1e-4: None, 1e-3: None}, None, False),
    ],
)
def test_the_best_rate_is_the_lowest_of_the_most_accurate(accuracy, best, edge):
    found = Found("x", accuracy)
    assert (found.best, found.is_at_the_edge) == (best, edge)
