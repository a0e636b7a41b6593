"""Ranges of group sizes: without gaps, few, and narrow where sizes are alike."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiercut.report.histogram import MOST_BARS, size_ranges


@given(st.integers(1, 10**6), st.integers(0, 10**6))
def test_ranges_rise_from_the_smallest_to_just_above_the_largest(low, more):
    edges = size_ranges(low, low + more)
    assert edges == sorted(set(edges))
    assert (edges[0], edges[-1]) == (low, low + more + 1)
    assert len(edges) - 1 <= MOST_BARS + 1


@pytest.mark.parametrize(
    ("low", "high", "edges"),
    [
        (3, 3, [3, 4]),
        (2, 5, [2, 3, 4, 5, 6]),
        (100, 145, [*range(100, 146, 3), 146]),
        (1, 40, [1, 2, 4, 8, 16, 32, 41]),
    ],
)
def test_ranges_suit_the_sizes(low, high, edges):
    assert size_ranges(low, high) == edges
