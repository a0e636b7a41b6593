"""What a module becomes, and what is refused by name."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from tests.engines.folded.nets import Residual
from tiercut.engines.folded import unsupported
from tiercut.engines.folded.instructions import Convolve, Flatten, MaxPool, Tail
from tiercut.engines.folded.plan import plan
from tiercut.models.alexnet import alexnet
from tiercut.models.resnet import resnet101
from tiercut.models.small import small
from tiercut.models.vgg import vgg11, vgg19


class Mixing(nn.Module):
    def forward(self, values):
        return torch.cat([values, values], dim=1)


class Branching(nn.Module):
    def forward(self, values):
        return values if values.sum() > 0 else -values


class Methods(nn.Module):
    """The same operations in other words."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(4, 4, 1)
        self.last = nn.Linear(16, 2)

    def forward(self, values):
        values = torch.add(self.first(values), values).relu()
        return self.last(torch.flatten(values, 1))


@pytest.mark.parametrize("model", [alexnet, vgg11, vgg19, resnet101, small])
def test_every_model_of_the_zoo_folds(model):
    assert unsupported(model().layers) is None


@pytest.mark.parametrize(
    ("module", "said"),
    [
        (nn.GELU(), "GELU"),
        (nn.Conv2d(4, 4, 3, groups=2), "groups or dilation"),
        (nn.Conv2d(4, 4, 3, padding="same"), "padding by name"),
        (nn.Conv2d(4, 4, 3, stride=(1, 2)), "two different strides"),
        (nn.BatchNorm2d(4, affine=False), "no scale"),
        (nn.AdaptiveAvgPool2d(2), "larger than one position"),
        (nn.MaxPool2d(2, return_indices=True), "indices"),
        (nn.Flatten(0), "flatten of dimensions 0 to -1"),
        (nn.Sequential(nn.Flatten(), nn.Conv2d(4, 4, 3)), "reads a value of 2 dimensions"),
        (nn.Sequential(nn.BatchNorm2d(4), nn.Linear(4, 2)), "reads a value of 4 dimensions"),
        (Mixing(), "calls cat"),
        (Branching(), "cannot be traced"),
    ],
)
def test_others_are_refused_by_name(module, said):
    assert said in str(unsupported(nn.Sequential(module)))


def test_what_follows_a_convolution_is_one_instruction():
    block = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.ReLU()
    )
    first, tail, last = plan(block).instructions
    assert isinstance(first, Convolve)
    assert tail == Tail((1,), tail.output, bias="0", norm="1", relu=True, pool=True)
    assert last == Tail((tail.output,), last.output, relu=True)


def test_residual_joins_the_body_and_names_what_it_goes_around():
    steps = plan(Residual(16, 16, 1)).instructions
    assert [type(step) for step in steps] == [Convolve, Tail, Convolve, Tail]
    last = steps[-1]
    assert isinstance(last, Tail)
    assert last.inputs[1] == 0
    assert last.around == steps[0].output


def test_tapped_value_is_not_joined_away():
    chain = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten())
    whole = plan(chain, tap=1)
    bias, relu = whole.instructions[1:3]
    assert whole.tap == bias.output == relu.inputs[0]


def test_methods_and_functions_fold_like_modules():
    kinds = [type(step) for step in plan(Methods()).instructions]
    assert kinds == [Convolve, Tail, Flatten, Convolve, Tail]


def test_other_pools_stand_alone():
    (step,) = plan(nn.Sequential(nn.MaxPool2d(3, 2))).instructions
    assert isinstance(step, MaxPool)
