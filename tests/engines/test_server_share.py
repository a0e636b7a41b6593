"""A server that sees a share of every batch: the same one in every engine, at the model's price."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.engines.instances import distance, placement, reference, settings, stacked, task, whole
from tiercut.cost import Workload, round_bytes
from tiercut.cost.workload import sent_up
from tiercut.engines.folding import Folded
from tiercut.engines.optimiser import Optimiser
from tiercut.engines.stacked import Stacked
from tiercut.fleet import sample_fleet
from tiercut.models.trace import trace
from tiercut.scenario import FleetSection
from tiercut.schemes.registry import SHIPPED
from tiercut.seeds import Seeds

LOCAL = ("locsfl", "dtfl", "hsfl-ll", "aa-hsfl-ll")


def folded(work):
    return Stacked(work, settings(), Folded)


@given(st.integers(0, 2000), st.integers(1, 1000))
def test_a_share_is_rounded_up_and_never_a_single_sample_of_several(samples, thousandths):
    seen = sent_up(samples, thousandths / 1000)
    assert min(samples, 2) <= seen <= samples
    if seen > 2:
        assert seen == -(-samples * thousandths // 1000)


@pytest.mark.parametrize("build", [stacked, folded])
@pytest.mark.parametrize("intervals", [(None, None), ("batch", "batch"), (2, "round")])
@pytest.mark.parametrize("scheme", LOCAL)
def test_stacked_trains_as_the_reference(scheme, intervals, build):
    work = task(scheme, "normed", intervals=intervals, server_share=0.5)
    judge, fast = reference(work), build(work)
    for index in range(2):
        expected, found = (engine.run_round(whole(work, index)) for engine in (judge, fast))
    assert found.samples == expected.samples
    assert found.loss == pytest.approx(expected.loss, rel=1e-9)
    assert found.local_loss == pytest.approx(expected.local_loss, rel=1e-9)
    assert distance(fast.weights(), judge.weights()) < 1e-9


@pytest.mark.parametrize("build", [stacked, folded])
def test_dropout_and_rounding_are_those_of_the_samples_that_go_up(build):
    work = task("aa-hsfl-ll", "dropping", server_share=0.5, wire="int8")
    judge, fast = reference(work), build(work)
    for engine in (judge, fast):
        engine.run_round(whole(work, 0))
    assert distance(fast.weights(), judge.weights()) < 1e-9


@pytest.mark.parametrize("build", [reference, stacked])
@pytest.mark.parametrize("scheme", LOCAL)
def test_what_is_below_the_cut_learns_the_same(scheme, build):
    """Nobody there hears from the server, until the round is over."""
    work = task(scheme, "normed", server_share=0.5)
    some, all_of_it = (build(each) for each in (work, replace(work, server_share=1.0)))
    for engine in (some, all_of_it):
        engine.run_round(whole(work, 0))
    first, last = ({k: v for k, v in some.weights().items() if k.startswith(f"layers.{name}.")}
                   for name in (work.model.layer_names[0], work.model.layer_names[-1]))  # fmt: skip
    others = all_of_it.weights()
    assert all(torch.equal(value, others[key]) for key, value in first.items())
    assert not all(torch.equal(value, others[key]) for key, value in last.items())


@pytest.mark.parametrize("scheme", ["sfl", "multihop"])
def test_where_the_gradient_comes_back_the_server_sees_everything(scheme):
    work = task(scheme, "normed", server_share=0.5)
    some, all_of_it = (stacked(each) for each in (work, replace(work, server_share=1.0)))
    found, expected = (engine.run_round(whole(work, 0)) for engine in (some, all_of_it))
    assert found == expected
    assert distance(some.weights(), all_of_it.weights()) == 0


@pytest.mark.parametrize("build", [reference, stacked, folded])
def test_the_loss_at_the_server_is_the_mean_over_what_it_saw(build):
    """A model that has not learnt yet is as wrong about a share as about all."""
    still = Optimiser("sgd", rate=1e-12)
    work = task("locsfl", "normed", sizes=(64,), batch=32, optimiser=still)
    some, all_of_it = (
        build(replace(work, server_share=share)).run_round(whole(work, 0)) for share in (0.5, 1.0)
    )
    assert some.loss == pytest.approx(all_of_it.loss, rel=0.1)
    assert some.loss != all_of_it.loss


@pytest.mark.parametrize(("share", "labels"), [(0.5, 2), (0.1, 2), (0.75, 3), (1.0, 4)])
@pytest.mark.parametrize("scheme", SHIPPED)
def test_the_bytes_are_those_of_the_traffic_model(scheme, share, labels):
    work = task(scheme, "normed", sizes=(8, 8, 8, 8, 8), server_share=share)
    engine = reference(work, torch.float32)
    engine.run_round(whole(work, 0))
    fleet = sample_fleet(FleetSection(clients=5, examples=8), Seeds(0))
    costs = Workload(trace(work.model), batch=4, epochs=2, server_share=share)
    expected = round_bytes(fleet, costs, placement(work), work.scheme.cost)
    sent = engine.transport.bytes
    assert sent["activations aggregator server"] == expected.activations_to_server
    assert costs.seen(work.scheme.cost) == (labels if scheme in LOCAL else 4)
