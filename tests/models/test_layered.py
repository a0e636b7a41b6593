import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from tiercut.errors import InputError
from tiercut.models.layered import LayeredModel


def linear_model(depth=5):
    """A chain of equal linear layers, called a, b, c, ..."""
    layers = {chr(ord("a") + index): nn.Linear(4, 4) for index in range(depth)}
    return LayeredModel(layers, name="chain", input_shape=(4,))


def test_a_model_knows_its_name_shape_head_depth_and_layers():
    model = linear_model(depth=3)
    assert (model.name, model.input_shape, model.head, model.depth) == ("chain", (4,), "flat", 3)
    assert [name for name, _ in model.named_layers()] == ["a", "b", "c"]


def test_layers_may_be_given_as_pairs():
    pairs = [("first", nn.Flatten()), ("second", nn.Linear(4, 2))]
    model = LayeredModel(pairs, name="pairs", input_shape=[2, 2], head="pooled")
    assert (model.layer_names, model.input_shape) == (("first", "second"), (2, 2))


def test_forward_runs_all_layers_in_order():
    model = linear_model(depth=3)
    inputs = model.random_input(batch=2)
    by_hand = model.layers.c(model.layers.b(model.layers.a(inputs)))
    assert torch.equal(model(inputs), by_hand)


@given(first=st.integers(1, 5), length=st.integers(1, 5))
def test_a_slice_holds_the_models_own_layers(first, length):
    model = linear_model(depth=5)
    last = min(first + length - 1, 5)
    assert list(model.slice(first, last)) == list(model.layers)[first - 1 : last]


@pytest.mark.parametrize(("first", "last"), [(0, 2), (3, 2), (1, 6), (-1, 3)])
def test_a_slice_outside_the_model_is_refused(first, last):
    with pytest.raises(InputError, match="count from 1 to 5"):
        linear_model(depth=5).slice(first, last)


def test_a_cut_gives_three_parts_that_are_the_model():
    model = linear_model(depth=5)
    weak, aggregator, server = model.cut(h=2, v=3)
    assert [len(weak), len(aggregator), len(server)] == [2, 1, 2]
    assert [*weak, *aggregator, *server] == list(model.layers)


def test_training_a_part_trains_the_model():
    model = linear_model(depth=4)
    weak, _, _ = model.cut(h=1, v=2)
    with torch.no_grad():
        weak.a.bias.fill_(7)
    assert model.layers.a.bias.tolist() == [7, 7, 7, 7]


def test_the_parts_states_together_are_the_models_state():
    model = linear_model(depth=5)
    parts = [part.state_dict() for part in model.cut(h=2, v=3)]
    assert [key for part in parts for key in part] == list(model.layers.state_dict())


@pytest.mark.parametrize(("h", "v"), [(0, 2), (2, 2), (3, 2), (1, 5), (5, 6)])
def test_a_cut_that_leaves_a_part_empty_is_refused(h, v):
    with pytest.raises(InputError, match=rf"h = {h}, v = {v} .* choose 1 <= h < v <= 4"):
        linear_model(depth=5).cut(h, v)


def test_modules_without_names_are_numbered_from_one():
    modules = [nn.Flatten(), nn.Linear(4, 2)]
    for given_as in (modules, nn.Sequential(*modules)):
        model = LayeredModel.from_modules(given_as, name="mine", input_shape=(4,))
        assert model.layer_names == ("layer1", "layer2")


def test_names_in_a_sequential_are_kept():
    sequence = nn.Sequential()
    sequence.add_module("flatten", nn.Flatten())
    sequence.add_module("scores", nn.Linear(4, 2))
    model = LayeredModel.from_modules(sequence, name="mine", input_shape=(4,))
    assert model.layer_names == ("flatten", "scores")


def test_a_module_without_parameters_may_be_used_twice():
    relu = nn.ReLU()
    modules = [nn.Linear(4, 4), relu, nn.Linear(4, 4), relu]
    model = LayeredModel.from_modules(modules, name="mine", input_shape=(4,))
    assert model.depth == 4
    assert model(model.random_input(batch=2)).min() >= 0


def test_layers_that_share_parameters_are_refused():
    shared = nn.Linear(4, 4)
    with pytest.raises(InputError, match="'layer1' and 'layer3' share parameters"):
        LayeredModel.from_modules([shared, nn.ReLU(), shared], name="mine", input_shape=(4,))


def test_two_layers_of_one_name_are_refused():
    pairs = [("fc", nn.Linear(4, 4)), ("fc", nn.Linear(4, 4))]
    with pytest.raises(InputError, match="2 layers are called 'fc'"):
        LayeredModel(pairs, name="mine", input_shape=(4,))


@pytest.mark.parametrize("shape", [(), (0, 3), (1.5,), "32", 32])
def test_an_input_shape_that_is_no_shape_is_refused(shape):
    with pytest.raises(InputError, match=r"write the shape of one sample"):
        LayeredModel({"fc": nn.Linear(4, 4)}, name="mine", input_shape=shape)


def test_in_place_layers_are_switched_off_so_that_any_cut_can_be_trained():
    modules = [nn.Linear(4, 4), nn.Sequential(nn.ReLU(inplace=True)), nn.Linear(4, 4)]
    model = LayeredModel.from_modules(modules, name="mine", input_shape=(4,))
    received = torch.randn(2, 4, requires_grad=True)
    model.slice(2, 3)(received).sum().backward()
    assert received.grad is not None


def test_random_input_has_the_models_own_type():
    inputs = linear_model().double().random_input(batch=3)
    assert (inputs.dtype, inputs.shape) == (torch.float64, (3, 4))
