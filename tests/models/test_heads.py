import pytest
import torch
from torch import nn

from tiercut.errors import InputError
from tiercut.models.heads import build_head


def count_parameters(module):
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.mark.parametrize("kind", ["flat", "pooled"])
@pytest.mark.parametrize("shape", [(6,), (6, 5), (6, 4, 4), (6, 2, 3, 4)])
def test_a_head_gives_one_score_per_class_for_any_shape(kind, shape):
    head = build_head(kind, shape, classes=3)
    assert head(torch.randn(2, *shape)).shape == (2, 3)


def test_a_flat_head_sees_every_element():
    assert count_parameters(build_head("flat", (6, 4, 4), classes=10)) == 6 * 4 * 4 * 10 + 10


def test_a_pooled_head_sees_one_average_per_channel():
    head = build_head("pooled", (6, 4, 4), classes=10)
    assert count_parameters(head) == 6 * 10 + 10
    activations = torch.randn(2, 6, 4, 4)
    averages = activations.mean(dim=(2, 3), keepdim=True).expand_as(activations)
    torch.testing.assert_close(head(activations), head(averages))


def test_both_kinds_are_the_same_for_flat_activations():
    flat, pooled = build_head("flat", (6,), 3), build_head("pooled", (6,), 3)
    pooled.load_state_dict(flat.state_dict())
    activations = torch.randn(2, 6)
    assert torch.equal(flat(activations), pooled(activations))


def test_a_head_is_a_plain_module_that_can_be_trained():
    head = build_head("flat", (6, 4, 4), classes=3)
    nn.functional.cross_entropy(head(torch.randn(2, 6, 4, 4)), torch.tensor([0, 2])).backward()
    assert all(parameter.grad is not None for parameter in head.parameters())


def test_an_unknown_kind_is_refused_with_the_nearest_spelling():
    with pytest.raises(InputError, match=r"'pool' is no kind.*did you mean 'pooled'"):
        build_head("pool", (6,), 3)
