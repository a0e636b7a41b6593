"""Whole numbers in proportion: they add up, keep the limits, and are off by less than one."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tiercut.data.apportion import apportion
from tiercut.data.split import held_out

relaxed = settings(deadline=None)
entries = st.lists(st.tuples(st.floats(0, 1e6), st.integers(0, 50)), min_size=1, max_size=12)


@given(entries=entries, data=st.data())
@relaxed
def test_parts_add_up_within_their_limits(entries, data):
    weights, limits = zip(*entries, strict=True)
    total = data.draw(st.integers(0, sum(limits)))
    given_out = apportion(total, weights, limits)
    assert given_out.sum() == total
    assert (given_out >= 0).all()
    assert (given_out <= limits).all()


@given(weights=st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=12), total=st.integers(0, 10**9))
@relaxed
def test_without_limits_no_part_is_off_by_one(weights, total):
    exact = total * np.array(weights) / sum(weights)
    given_out = apportion(total, weights, [total] * len(weights))
    assert (np.abs(given_out - exact) < 1 + 1e-6).all()


def test_what_weighs_nothing_waits_until_the_others_are_full():
    assert apportion(3, [1, 0], [5, 5]).tolist() == [3, 0]
    assert apportion(8, [1, 0], [5, 5]).tolist() == [5, 3]


@given(labels=st.lists(st.integers(0, 4), min_size=2, max_size=200))
@relaxed
def test_a_fifth_of_each_class_is_held_out(labels):
    labels = np.array(labels)
    test = held_out(labels, "some name")
    counts, held = np.bincount(labels), np.bincount(labels[test], minlength=labels.max() + 1)
    assert (held <= np.maximum(counts - 1, 0)).all()
    assert (held[counts >= 2] <= 0.2 * counts[counts >= 2] + 2).all()
    assert test.sum() <= np.ceil(0.2 * len(labels))
    assert (test == held_out(labels, "some name")).all()
