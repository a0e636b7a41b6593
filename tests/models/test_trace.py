from importlib import resources

import pytest
import torch
from torch import nn

from tiercut.documents import to_json
from tiercut.errors import InputError
from tiercut.models.layered import LayeredModel
from tiercut.models.profile import SHIPPED, shipped_profile
from tiercut.models.trace import activation_shapes, count_classes, trace
from tiercut.models.zoo import build_model


def model_of(*modules, input_shape=(2, 4, 4), **options):
    return LayeredModel.from_modules(modules, name="mine", input_shape=input_shape, **options)


def normed_model(**options):
    """Convolution with BatchNorm and a linear layer, small enough to count by hand."""
    first = nn.Sequential(nn.Conv2d(2, 3, 3, padding=1), nn.BatchNorm2d(3), nn.MaxPool2d(2))
    return model_of(first, nn.Sequential(nn.Flatten(), nn.Linear(12, 5)), **options)


class Pair(nn.Module):
    """A layer that gives two tensors."""

    def forward(self, inputs):
        return inputs, inputs


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_profile_is_exactly_what_a_fresh_trace_writes(traced, name):
    assert shipped_profile(name) == traced(name)
    shipped = resources.files("tiercut.models") / "profiles" / f"{name}.json"
    assert shipped.read_text() == to_json(traced(name).to_dict())


def test_work_is_two_flop_per_multiply_add_of_one_sample():
    assert [layer.flops for layer in trace(normed_model()).layers] == [
        2 * (2 * 3 * 3 * 3) * (4 * 4),
        2 * 12 * 5,
    ]


def test_weights_are_four_bytes_each_and_include_batchnorm_statistics_but_not_its_counter():
    convolution, norm, statistics = 2 * 3 * 9 + 3, 3 + 3, 3 + 3
    layer = trace(normed_model()).layers[0]
    assert layer.weight_bytes == 4 * (convolution + norm + statistics)
    assert layer.parameters == convolution + norm


def test_bytes_do_not_depend_on_the_models_precision():
    assert trace(normed_model().double()) == trace(normed_model())


def test_activations_are_counted_after_the_pool():
    profile = trace(normed_model())
    assert [layer.activation_bytes for layer in profile.layers] == [4 * 3 * 2 * 2, 4 * 5]


def test_parameters_that_are_not_trained_are_sent_but_not_counted():
    model = normed_model()
    model.layers.layer2.requires_grad_(False)
    layer = trace(model).layers[1]
    assert (layer.parameters, layer.weight_bytes) == (0, 4 * (12 * 5 + 5))


@pytest.mark.parametrize(("head", "inputs"), [("flat", 3 * 2 * 2), ("pooled", 3)])
def test_a_head_of_the_models_own_kind_is_costed_after_every_layer(head, inputs):
    first, last = trace(normed_model(head=head)).heads
    assert (first.flops, first.weight_bytes) == (2 * inputs * 5, 4 * (inputs * 5 + 5))
    assert (last.flops, last.weight_bytes) == (2 * 5 * 5, 4 * (5 * 5 + 5))


def test_shapes_and_classes_can_be_asked_for_alone():
    assert activation_shapes(normed_model()) == ((3, 2, 2), (5,))
    assert count_classes(normed_model()) == 5


def test_a_trace_leaves_the_model_and_the_random_numbers_as_they_were():
    model = build_model("alexnet")
    model.layers.conv1.eval()
    modes = [module.training for module in model.modules()]
    state = {key: value.clone() for key, value in model.state_dict().items()}
    random_state = torch.get_rng_state()
    trace(model)
    assert [module.training for module in model.modules()] == modes
    assert all(torch.equal(value, state[key]) for key, value in model.state_dict().items())
    assert torch.equal(torch.get_rng_state(), random_state)


def test_a_layer_that_fails_on_its_input_is_named_with_the_shapes():
    model = model_of(nn.Flatten(), nn.Linear(30, 5))
    model.eval()
    with pytest.raises(InputError, match=r"layer 2 \(layer2\) of mine, given shape \(32,\), fails"):
        trace(model)
    with pytest.raises(InputError, match=r"input_shape is \(2, 4, 4\): correct it, or the layer"):
        trace(model)
    assert not any(module.training for module in model.modules())


def test_torch_does_not_log_what_the_error_already_says(capfd, caplog):
    with pytest.raises(InputError):
        trace(model_of(nn.Flatten(), nn.Linear(30, 5)))
    assert caplog.records == []
    assert capfd.readouterr() == ("", "")


def test_a_layer_that_returns_more_than_one_tensor_is_refused():
    with pytest.raises(InputError, match=r"layer1\) .* returns a tuple; a layer must return one"):
        trace(model_of(Pair(), nn.Flatten()))


@pytest.mark.parametrize("layer", [nn.Flatten(start_dim=0), nn.Flatten(0, 1)])
def test_a_layer_that_does_not_keep_the_batch_is_refused(layer):
    with pytest.raises(InputError, match=r"turns a batch of 1 into .* must keep the batch"):
        trace(model_of(layer, nn.ReLU()))


def test_a_last_layer_that_gives_no_scores_is_refused():
    with pytest.raises(InputError, match=r"gives shape \(2, 4, 4\).*one score per class"):
        trace(model_of(nn.ReLU(), nn.ReLU()))
