"""Averaging rows of a stack: against a loop, and what must not change."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tiercut.engines.layout import flat, repeat, take, weighted_sum
from tiercut.engines.mixing import COLUMNS, Mixing

CPU = torch.device("cpu")


def looped(stack, group, weights):
    """The same average, row by row."""
    result = stack.clone()
    for number in set(group) - {-1}:
        members = [n for n, g in enumerate(group) if g == number]
        total = sum(weights[n] for n in members)
        if len(members) > 1 and total > 0:
            mean = sum(stack[n] * (weights[n] / total) for n in members)
            for n in members:
                result[n] = mean
    return result


@given(
    st.lists(st.tuples(st.integers(-1, 3), st.integers(0, 5)), min_size=1, max_size=9),
    st.sampled_from([(3,), (2, 3), (4, 2, 3, 3), ()]),
)
def test_it_equals_a_loop(rows, shape):
    group, weights = (np.array(values) for values in zip(*rows, strict=True))
    stack = repeat(torch.zeros(shape, dtype=torch.float64), len(rows))
    stack.copy_(torch.randn(stack.shape, generator=torch.Generator().manual_seed(0)))
    expected = looped(stack, group.tolist(), weights.tolist())
    mixing = Mixing.of(group, weights.astype(float), CPU)
    if mixing is None:
        assert torch.equal(stack, expected)
        return
    other = stack.clone()
    mixing.average(stack)
    assert torch.allclose(stack, expected, atol=1e-12)
    pytest.importorskip("triton")
    mixing.fuse(flat(other))
    assert torch.allclose(other, expected, atol=1e-12)


def test_groups_of_one_and_of_nobody_are_left_alone():
    assert Mixing.of(np.array([0, 1, -1, -1]), np.ones(4), CPU) is None
    assert Mixing.of(np.array([0, 0]), np.zeros(2), CPU) is None


def test_a_row_without_weight_gets_the_mean():
    stack = torch.tensor([[1.0], [3.0], [99.0]])
    Mixing.of(np.array([0, 0, 0]), np.array([1.0, 1.0, 0.0]), CPU).average(stack)
    assert stack.tolist() == [[2.0], [2.0], [2.0]]


def test_counters_take_the_largest():
    stack = torch.tensor([3, 5, 9])
    Mixing.of(np.array([0, 0, -1]), np.ones(3), CPU).average(stack)
    assert stack.tolist() == [5, 5, 9]


def test_more_columns_than_are_averaged_at_a_time():
    stack = torch.randn(3, COLUMNS + 7, dtype=torch.float64)
    expected = looped(stack, [0, 0, 0], [1, 1, 1])
    Mixing.of(np.zeros(3, dtype=int), np.ones(3), CPU).average(stack)
    assert torch.allclose(stack, expected)


@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (4, 3, 2, 2)])
def test_layouts_keep_shape_and_values(shape):
    value = torch.randn(shape)
    stack = repeat(value, 3)
    assert stack.shape == (3, *shape)
    assert (stack == value).all()
    if len(shape) == 4:
        assert stack[0].is_contiguous(memory_format=torch.channels_last)
    flat(stack)[1] = 0
    assert (stack[1] == 0).all()
    assert (stack[2] == value).all()
    assert torch.allclose(weighted_sum(torch.tensor([1.0, 5.0, 2.0]), stack), 3 * value)
    assert (take(stack, torch.tensor([1, 0, 1]))[1] == value).all()
