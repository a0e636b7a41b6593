"""Marks of a time axis are few, evenly spaced, and whole minutes where time is long."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiercut.report.ticks import show_tick, time_ticks


@given(st.floats(0, 1e6), st.floats(1e-3, 1e9))
def test_ticks_are_few_and_inside(low, length):
    ticks = time_ticks(low, low + length)
    assert len(ticks) <= 9
    rounding = 1e-9 * (1 + low + length)
    assert all(low - rounding <= tick <= low + length + rounding for tick in ticks)


@pytest.mark.parametrize(
    ("high", "step"),
    [(0.008, 0.001), (1.5, 0.2), (16, 2), (70, 10), (110, 15), (400, 60), (30000, 7200)],
)
def test_steps_read_well(high, step):
    first, second, *_ = time_ticks(0, high)
    assert second - first == pytest.approx(step)


def test_no_time_has_one_tick():
    assert time_ticks(0.0, 0.0) == [0.0]


@pytest.mark.parametrize(
    ("seconds", "label"),
    [
        (0.0, "0"),
        (0.2, "200 ms"),
        (30, "30 s"),
        (600, "10 min"),
        (630, "10 min 30 s"),
        (7200, "2 h"),
    ],
)
def test_marks_say_no_more_than_they_must(seconds, label):
    assert show_tick(seconds) == label
