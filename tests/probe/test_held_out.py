"""Who tries, and on what they are measured: never on what they trained on, nor on the test set."""

from itertools import pairwise

import numpy as np
import pytest

from tiercut.data import Split
from tiercut.data.dataset import Dataset
from tiercut.errors import InputError
from tiercut.probe.held_out import FEWEST, draw_clients, hold_out
from tiercut.seeds import Seeds

SEEDS = Seeds(0)


def numbered(count, first=0):
    """Images whose one pixel is their number."""
    images = np.arange(first, first + count, dtype=np.float32).reshape(count, 1, 1, 1)
    return Split(images, np.zeros(count, dtype=np.int64))


def dataset(train=300, valid=None):
    parts = numbered(train), numbered(5, first=10_000)
    return Dataset("x", ("a", "b"), *parts, valid and numbered(valid, first=1000), (0.0,), (1.0,))


def shards(*sizes):
    ends = np.cumsum([0, *sizes])
    return [np.arange(first, last) for first, last in pairwise(ends)]


def numbers(split):
    return split.images.ravel().astype(int)


def test_clients_are_drawn_in_their_order():
    chosen = draw_clients(100, 10, SEEDS)
    assert len(set(chosen.tolist())) == 10
    assert (np.diff(chosen) > 0).all()
    assert (chosen == draw_clients(100, 10, SEEDS)).all()
    assert (chosen != draw_clients(100, 10, Seeds(1))).any()


def test_of_few_clients_all_try():
    assert draw_clients(3, 10, SEEDS).tolist() == [0, 1, 2]


def test_validation_examples_come_first():
    held_out, kept = hold_out(dataset(valid=50), shards(100, 200), 20, SEEDS)
    assert len(held_out) == 20
    assert (numbers(held_out) >= 1000).all()
    assert [len(shard) for shard in kept] == [100, 200]


@pytest.mark.parametrize("most", [10, 150, 2000])
def test_else_what_no_chosen_client_has(most):
    held_out, kept = hold_out(dataset(), shards(50, 100), most, SEEDS)
    found = numbers(held_out)
    assert len(set(found)) == len(found) == min(most, 150)
    assert (found >= 150).all()
    assert (found < 300).all()
    assert [len(shard) for shard in kept] == [50, 100]


@pytest.mark.parametrize("taken", [(100, 200), (100, 190)])
def test_where_too_few_are_left_clients_give_some_up(taken):
    held_out, kept = hold_out(dataset(), shards(*taken), 2000, SEEDS)
    trained = np.concatenate(kept)
    assert not set(numbers(held_out)) & set(trained)
    assert len(held_out) + len(trained) == 300
    assert min(60, FEWEST) <= len(held_out) <= FEWEST + 1
    for before, after in zip(taken, kept, strict=True):
        assert after.size >= 0.8 * before
        assert (np.diff(after) > 0).all()  # in the order that they were in


def test_nobody_gives_up_more_than_is_wanted():
    held_out, kept = hold_out(dataset(), shards(100, 200), 10, SEEDS)
    assert len(held_out) == 10
    assert [len(shard) for shard in kept] == [95, 195]


def test_nobody_gives_up_the_only_example():
    held_out, kept = hold_out(dataset(train=4), shards(1, 3), 2000, SEEDS)
    assert len(held_out) == 1
    assert [len(shard) for shard in kept] == [1, 2]


def test_nothing_to_measure_on_is_refused():
    with pytest.raises(InputError, match="take fewer clients with --clients"):
        hold_out(dataset(train=3), shards(1, 1, 1), 2000, SEEDS)
