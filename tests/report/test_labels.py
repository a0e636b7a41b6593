"""What nodes are called: without what all names share, and written where there is room."""

import pytest

from tiercut.report.labels import MOST_BELOW, WIDEST, Labels, shared_start


@pytest.mark.parametrize(
    ("names", "start"),
    [
        (["client-01", "client-02"], "client-"),
        (["lab pi 1", "lab pi 2"], "lab pi "),
        (["anna", "andy"], ""),
        (["a-", "a-b"], ""),
        (["a-b"], ""),
        (["x_1", "y_1"], ""),
    ],
)
def test_the_shared_start_ends_with_a_word_and_leaves_something(names, start):
    assert shared_start(names) == start


def test_labels_go_inside_below_or_to_the_groups():
    assert Labels.of(["n-1", "n-2"], 17).where == "inside"
    few = Labels.of(["kitchen", "garage"], 17)
    assert few.where == "below"
    assert 0 < few.width <= WIDEST
    many = Labels.of([f"device {i} of many" for i in range(MOST_BELOW + 1)], 17)
    assert (many.where, many.width) == ("groups", 0.0)
