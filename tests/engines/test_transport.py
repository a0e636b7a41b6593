"""What the reference engine's nodes really send is what the traffic model says."""

import pytest
import torch

from tests.engines.instances import placement, reference, task, whole
from tiercut.cost import Workload, round_bytes
from tiercut.fleet import sample_fleet
from tiercut.models.trace import trace
from tiercut.scenario import FleetSection
from tiercut.schemes.registry import SHIPPED
from tiercut.seeds import Seeds

KINDS = {
    "activations_to_aggregator": "activations client aggregator",
    "gradients_from_aggregator": "gradients aggregator client",
    "activations_to_server": "activations aggregator server",
    "gradients_from_server": "gradients server aggregator",
}


@pytest.mark.parametrize("scheme", SHIPPED)
def test_bytes_are_those_of_the_model(scheme):
    work = task(scheme, "normed", sizes=(8, 8, 8, 8, 8))
    engine = reference(work, torch.float32)
    engine.run_round(whole(work, 0))
    fleet = sample_fleet(FleetSection(clients=5, examples=8), Seeds(0))
    costs = Workload(trace(work.model), batch=4, epochs=2)
    expected = round_bytes(fleet, costs, placement(work), work.scheme.cost)
    sent = engine.transport.bytes
    for name, kind in KINDS.items():
        assert sent[kind] == pytest.approx(getattr(expected, name)), name
    up = sum(
        size
        for kind, size in sent.items()
        if kind.startswith("weights") and kind.endswith("server")
    )
    heads = expected.head_weights / 2
    assert up == pytest.approx(expected.weights_up + heads, rel=0.05)  # BatchNorm's counters
