"""What travels is rounded, the same in every engine, and costs what the traffic model says."""

import pytest
import torch

from tests.engines.instances import distance, placement, reference, settings, stacked, task, whole
from tiercut.cost import Workload, round_bytes
from tiercut.engines.folded import Travel
from tiercut.engines.folding import Folded
from tiercut.engines.stacked import Stacked
from tiercut.engines.tiers import Tiers
from tiercut.engines.wire import carried, send, size_on_wire
from tiercut.fleet import sample_fleet
from tiercut.models.trace import trace
from tiercut.scenario import FleetSection
from tiercut.schemes.registry import SHIPPED
from tiercut.seeds import Seeds


@pytest.mark.parametrize(("wire", "error"), [("fp32", 0), ("bf16", 2**-8), ("int8", 1 / 254)])
def test_the_error_is_bounded(wire, error):
    values = torch.randn(6, 3, 4, 4, dtype=torch.float64)
    arrived = carried(values, wire)
    largest = values.flatten(1).abs().amax(1).view(6, 1, 1, 1)
    assert ((arrived - values).abs() <= error * largest * 1.0001).all()
    assert torch.equal(carried(arrived, "bf16" if wire == "bf16" else "fp32"), arrived)


def test_int8_takes_so_many_levels_and_keeps_zero_and_the_largest():
    values = torch.tensor([[0.0, 1.0, -2.0, 0.5], [0.0, 0.0, 0.0, 0.0]])
    arrived = carried(values, "int8")
    assert arrived[0, [0, 2]].tolist() == [0.0, -2.0]
    assert (arrived[1] == 0).all()
    many = carried(torch.linspace(-1, 1, 10_000).view(1, -1), "int8")
    assert len(many.unique()) == 255


def test_gradients_are_rounded_on_their_way_back():
    values = torch.randn(2, 5, requires_grad=True)
    gradient = torch.randn(2, 5)
    send(values, "int8").backward(gradient)
    assert torch.equal(values.grad, carried(gradient, "int8"))


@pytest.mark.parametrize("wire", ["bf16", "int8"])
@pytest.mark.parametrize("family", ["plain", "normed"])
@pytest.mark.parametrize("scheme", SHIPPED)
def test_stacked_rounds_as_the_reference(scheme, family, wire):
    work = task(scheme, family, wire=wire)
    judge, fast = reference(work), stacked(work)
    for index in range(2):
        expected, found = (engine.run_round(whole(work, index)) for engine in (judge, fast))
    assert found.loss == pytest.approx(expected.loss, rel=1e-9)
    assert distance(fast.weights(), judge.weights()) < 1e-9
    exact = stacked(task(scheme, family))
    exact.run_round(whole(work, 0))
    assert distance(fast.weights(), exact.weights()) > 1e-6


@pytest.mark.parametrize(("wire", "value", "sample"), [("bf16", 2, 0), ("int8", 1, 4)])
def test_the_bytes_are_those_of_the_traffic_model(wire, value, sample):
    assert size_on_wire(torch.zeros(3, 5), wire) == 15 * value + 3 * sample
    work = task("multihop", "normed", sizes=(8, 8, 8, 8, 8), wire=wire)
    engine = reference(work)
    engine.run_round(whole(work, 0))
    fleet = sample_fleet(FleetSection(clients=5, examples=8), Seeds(0))
    costs = Workload(trace(work.model), batch=4, epochs=2, wire=wire)
    expected = round_bytes(fleet, costs, placement(work), work.scheme.cost)
    sent = engine.transport.bytes
    assert sent["activations client aggregator"] == expected.activations_to_aggregator
    assert sent["gradients server aggregator"] == expected.gradients_from_server


@pytest.mark.parametrize("wire", ["bf16", "int8"])
@pytest.mark.parametrize("family", ["normed", "residual"])
@pytest.mark.parametrize("scheme", SHIPPED)
def test_the_fast_path_rounds_as_the_reference(scheme, family, wire):
    work = task(scheme, family, wire=wire)
    judge, fast = reference(work), Stacked(work, settings(), Folded)
    for index in range(2):
        expected, found = (engine.run_round(whole(work, index)) for engine in (judge, fast))
    assert found.loss == pytest.approx(expected.loss, rel=1e-9)
    assert distance(fast.weights(), judge.weights()) < 1e-9


def test_what_is_trained_in_bf16_need_not_be_rounded_to_it():
    """Nothing then stands between two layers."""
    for wire, stands in (("bf16", False), ("int8", True)):
        work = task("multihop", "normed", wire=wire)
        engine = Stacked(work, settings(precision="bf16"), Folded)
        engine.arrange(Tiers(work, whole(work, 0)))
        engine.begin()
        (folded,) = engine._running
        (chain,) = folded._lane.step.chains
        assert any(isinstance(layer, Travel) for layer in chain.module) is stands
