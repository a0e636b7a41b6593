"""What a device says about itself: the work that a profile counts, over the time it takes."""

import math

import pytest
import torch
from torch import nn

from tiercut.engines.optimiser import Optimiser
from tiercut.errors import InputError
from tiercut.models.layered import LayeredModel
from tiercut.models.trace import trace
from tiercut.models.zoo import build_model
from tiercut.net.throughput import FEWEST_REPEATS, Timing, as_timed, measure_throughput

ADAM = Optimiser()
CALLS = []


class Counted(nn.Linear):
    """A linear layer, of which every copy writes down that it was called."""

    def forward(self, inputs):
        CALLS.append(tuple(inputs.shape))
        return super().forward(inputs)


def mine(*layers, shape=(1, 8, 8)):
    return LayeredModel.from_modules(layers, name="mine", input_shape=shape)


def measured(model, batch=2, optimiser=ADAM, **options):
    return measure_throughput(model, trace(model), batch, optimiser, **{"seconds": 0.0, **options})


@pytest.mark.parametrize("optimiser", [ADAM, Optimiser("sgd", rate=1e6, momentum=0.9)])
def test_every_layer_and_the_whole_have_a_positive_finite_throughput(optimiser):
    found = measured(build_model("small"), optimiser=optimiser)
    assert len(found.layer_throughput) == 7
    for throughput in (found.throughput, *found.layer_throughput):
        assert math.isfinite(throughput)
        assert throughput > 0


def test_layers_without_work_have_no_throughput_of_their_own():
    layers = [
        nn.Flatten(),
        nn.Linear(64, 32),
        nn.Sequential(nn.ReLU(), nn.Dropout()),
        nn.Identity(),
    ]
    found = measured(mine(*layers, nn.Linear(32, 4)))
    assert [throughput > 0 for throughput in found.layer_throughput] == [
        False, True, False, False, True,
    ]  # fmt: skip
    assert found.throughput > 0


def test_layers_so_small_that_calling_them_is_all_still_count():
    found = measured(mine(*(nn.Linear(1, 1) for _ in range(9)), nn.Linear(1, 2), shape=(1,)))
    assert 0 < found.throughput < math.inf


def test_work_is_what_the_profile_says():
    model = build_model("small")
    profile = trace(model)
    dearer = tuple(
        layer.model_copy(update={"flops": 0.0 if layer.index < 7 else 1e30})
        for layer in profile.layers
    )
    found = measure_throughput(
        model, profile.model_copy(update={"layers": dearer}), 2, ADAM, seconds=0.0
    )
    assert found.layer_throughput[:6] == (0,) * 6
    assert found.throughput > 1e28


def test_a_batch_is_repeated_as_long_as_the_budget_lasts_and_some_times_at_least():
    model = mine(nn.Flatten(), Counted(64, 4))
    profile = trace(model)
    CALLS.clear()
    measure_throughput(model, profile, 5, ADAM, seconds=0.0)
    assert CALLS == [(5, 64)] * (1 + FEWEST_REPEATS)
    CALLS.clear()
    measure_throughput(model, profile, 5, ADAM, seconds=3.0)
    assert len(CALLS) > 1 + FEWEST_REPEATS


def test_progress_is_told_layer_by_layer():
    steps = []
    measured(build_model("small"), progress=lambda done, total: steps.append((done, total)))
    assert steps == [(layer, 7) for layer in range(1, 8)]


def test_measuring_leaves_the_model_and_randomness_as_they_were(capsys):
    convolution = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.Dropout())
    model = mine(convolution, nn.Sequential(nn.Flatten(), nn.Linear(4 * 36, 4))).eval()
    before = {key: value.clone() for key, value in model.state_dict().items()}
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    measured(model)
    assert torch.equal(torch.rand(1), expected)
    assert not any(module.training for module in model.modules())
    assert all(parameter.grad is None for parameter in model.parameters())
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())
    assert capsys.readouterr() == ("", "")


def test_what_has_no_throughput_is_refused():
    with pytest.raises(InputError, match="mine does no floating-point work"):
        measured(mine(nn.ReLU(), nn.Flatten(), shape=(4,)))
    with pytest.raises(InputError, match="batch is 0"):
        measured(build_model("small"), batch=0)


def test_a_timed_profile_divides_the_same_work_as_the_time_is():
    model = mine(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 4))
    profile, found = trace(model), measured(model, seconds=0.05)
    timed = as_timed(profile, found)
    assert timed.flops.sum() == pytest.approx(profile.flops.sum())
    assert timed.flops / timed.flops.sum() == pytest.approx(
        [seconds / sum(found.layer_seconds) for seconds in found.layer_seconds]
    )
    assert timed.activation_bytes.tolist() == profile.activation_bytes.tolist()
    assert timed.weight_bytes.tolist() == profile.weight_bytes.tolist()


def test_where_no_layer_takes_time_of_its_own_work_is_as_counted():
    profile = trace(mine(nn.Flatten(), nn.Linear(64, 4)))
    assert as_timed(profile, Timing(1.0, (0.0, 1.0), (0.0, 0.0))) is profile
