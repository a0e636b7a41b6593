import math

import pytest
import torch
from torch import nn

from tiercut.errors import InputError
from tiercut.models.layered import LayeredModel
from tiercut.models.measure import measure
from tiercut.models.zoo import build_model

BRIEFLY = {"batch": 2, "seconds": 0.0}


def test_every_layer_and_the_whole_have_a_positive_finite_throughput():
    measured = measure(build_model("small"), **BRIEFLY)
    assert len(measured.layer_throughput) == 7
    for throughput in (measured.throughput, *measured.layer_throughput):
        assert math.isfinite(throughput)
        assert throughput > 0


def test_a_layer_without_work_has_no_throughput_of_its_own_and_slows_the_whole():
    modules = [nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 4)]
    model = LayeredModel.from_modules(modules, name="mine", input_shape=(1, 8, 8))
    measured = measure(model, **BRIEFLY)
    assert measured.layer_throughput[0] == measured.layer_throughput[2] == 0
    assert 0 < measured.throughput < max(measured.layer_throughput)


def test_the_caller_is_told_of_every_layer_before_it_is_timed():
    seen = []
    measure(
        build_model("small"), **BRIEFLY, on_layer=lambda index, name: seen.append((index, name))
    )
    assert seen[0] == (1, "conv1")
    assert seen[-1] == (7, "fc2")


def test_measuring_leaves_the_model_as_it_was(capsys):
    model = build_model("vgg11").eval()
    state = {key: value.clone() for key, value in model.state_dict().items()}
    measure(model, **BRIEFLY)
    assert not any(module.training for module in model.modules())
    assert all(parameter.grad is None for parameter in model.parameters())
    assert all(torch.equal(value, state[key]) for key, value in model.state_dict().items())
    assert capsys.readouterr() == ("", "")


def test_a_model_without_counted_work_is_refused():
    model = LayeredModel.from_modules([nn.ReLU(), nn.Flatten()], name="mine", input_shape=(4,))
    with pytest.raises(InputError, match="mine does no floating-point work"):
        measure(model, **BRIEFLY)


def test_a_batch_without_samples_is_refused():
    with pytest.raises(InputError, match="batch is 0; measure with at least one sample"):
        measure(build_model("small"), batch=0)
