"""Seconds of a round: equal to the slow twin, and with the symmetries that seconds must have."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cost import slow_twin
from tests.cost.instances import (
    ALL_SCHEMES,
    EVERY_WAY,
    LINKS,
    MODELS,
    instances,
    make_fleet,
    make_profile,
    relaxed,
)
from tiercut.cost import SCHEMES, Placement, Workload, round_seconds
from tiercut.errors import InputError


def seconds(instance, scheme, model):
    """The closed form's whole answer for one scheme."""
    placement = instance.placement(scheme)
    return round_seconds(instance.fleet, instance.work, placement, SCHEMES[scheme], model)


def symbols(instance, scheme):
    """What the slow twin needs to know."""
    served_by = instance.three_tiers.aggregator_of.tolist()
    page = slow_twin.Page(instance.fleet, instance.work, scheme)
    return page, scheme, instance.h, instance.v, instance.own_cuts, served_by


def with_speeds(fleet, *, server=None, **columns):
    """The fleet with other throughputs or rates."""
    return replace(fleet, server_throughput=server or fleet.server_throughput, **columns)


# ---------------------------------------------------------------- the slow twin


@given(instances())
@relaxed
def test_the_paper_model_equals_the_equations_written_as_loops(instance):
    for scheme in ALL_SCHEMES:
        expected = slow_twin.paper_seconds(*symbols(instance, scheme))
        assert seconds(instance, scheme, "paper").round == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("kind", LINKS)
@given(data=st.data())
@relaxed
def test_the_network_model_equals_its_documented_formula_as_loops(kind, data):
    instance = data.draw(instances(kind))
    for scheme in ALL_SCHEMES:
        expected = slow_twin.network_seconds(*symbols(instance, scheme))
        assert seconds(instance, scheme, "network").round == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("kind", LINKS)
@given(data=st.data())
@relaxed
def test_a_pipelined_round_equals_playing_it_batch_by_batch(kind, data):
    instance = data.draw(instances(kind))
    for scheme in ("locsfl", "dtfl", "hsfl-ll", "aa-hsfl-ll"):
        expected = slow_twin.network_seconds(*symbols(instance, scheme), batch_by_batch=True)
        assert seconds(instance, scheme, "network").round == pytest.approx(expected, rel=1e-12)


# ---------------------------------------------------------------- identities and bounds


@given(data=st.data())
@relaxed
def test_relabelling_the_clients_changes_nothing(data):
    instance = data.draw(instances())
    other = instance.relabelled(data.draw(st.permutations(range(len(instance.fleet)))))
    for scheme, model in EVERY_WAY:
        there = seconds(other, scheme, model).to_dict()
        assert there == pytest.approx(seconds(instance, scheme, model).to_dict(), rel=1e-12)


@given(instance=instances(), factor=st.floats(1e-3, 1e3))
@relaxed
def test_scaling_every_speed_divides_every_duration(instance, factor):
    fleet = instance.fleet
    scaled = with_speeds(
        fleet,
        throughput=fleet.throughput * factor,
        server=fleet.server_throughput * factor,
        to_server=fleet.to_server * factor,
        links=type(fleet.links)(fleet.links.rates * factor),
    )
    for scheme, model in EVERY_WAY:
        there = seconds(replace(instance, fleet=scaled), scheme, model).to_dict()
        here = seconds(instance, scheme, model).to_dict()
        assert there == pytest.approx({k: v / factor for k, v in here.items()}, rel=1e-9)


@pytest.mark.parametrize("kind", LINKS)
@given(data=st.data(), factor=st.floats(1, 100))
@relaxed
def test_raising_any_one_throughput_or_rate_never_lengthens_the_round(kind, data, factor):
    instance = data.draw(instances(kind))
    fleet = instance.fleet
    what = data.draw(st.sampled_from(["server", "throughput", "to_server", "links"]))
    if what == "server":
        faster = with_speeds(fleet, server=fleet.server_throughput * factor)
    elif what == "links":
        rates = fleet.links.rates.copy()
        first, second = data.draw(st.tuples(*[st.integers(0, len(fleet) - 1)] * 2))
        for place in {first} if kind == "access" else {(first, second), (second, first)}:
            rates[place] *= factor
        faster = with_speeds(fleet, links=type(fleet.links)(rates))
    else:
        speeds = getattr(fleet, what).copy()
        speeds[data.draw(st.integers(0, len(fleet) - 1))] *= factor
        faster = with_speeds(fleet, **{what: speeds})
    for scheme, model in EVERY_WAY:
        before = seconds(instance, scheme, model).round
        assert seconds(replace(instance, fleet=faster), scheme, model).round <= before


@given(instances())
@relaxed
def test_three_tiers_with_everybody_an_aggregator_take_as_long_as_two(instance):
    alone = instance.with_everybody_an_aggregator()
    for three, two in (("hsfl-ll", "locsfl"), ("aa-hsfl-ll", "locsfl"), ("multihop", "sfl")):
        for model in MODELS:
            expected = seconds(instance, two, model).to_dict()
            assert seconds(alone, three, model).to_dict() == pytest.approx(expected, rel=1e-12)


@given(instances())
@relaxed
def test_dtfl_with_one_cut_for_all_takes_as_long_as_locsfl(instance):
    same = replace(instance, own_cuts=(instance.v,) * len(instance.fleet))
    for model in MODELS:
        assert seconds(same, "dtfl", model) == seconds(instance, "locsfl", model)


@given(instances())
@relaxed
def test_waiting_for_the_servers_gradient_never_shortens_a_round(instance):
    for patient, hasty in (("sfl", "locsfl"), ("multihop", "aa-hsfl-ll")):
        for model in MODELS:
            waited = seconds(instance, patient, model).round
            assert seconds(instance, hasty, model).round <= waited * (1 + 1e-12)


@given(instances())
@relaxed
def test_a_multihop_batch_is_an_aa_batch_that_waits_for_server_and_gradient(instance):
    instance = instance.with_a_server_that_sees_all()
    aa, multihop = (seconds(instance, scheme, "paper") for scheme in ("aa-hsfl-ll", "multihop"))
    assert (multihop.download, multihop.forward) == (aa.download, aa.forward)
    assert multihop.backward > max(aa.server, aa.backward)


@given(instances())
@relaxed
def test_a_paper_round_is_the_sum_of_its_parts(instance):
    batches = instance.work.epochs * instance.work.batches(instance.fleet)
    for scheme in ALL_SCHEMES:
        parts = seconds(instance, scheme, "paper")
        assert parts.batch == parts.forward + parts.backward
        assert parts.round == pytest.approx(parts.download + parts.upload + batches * parts.batch)


@given(instances("between"))
@relaxed
def test_a_pipeline_never_takes_longer_than_barriers_where_nothing_is_shared(instance):
    alone = instance.with_everybody_an_aggregator()
    for scheme in ("locsfl", "dtfl", "hsfl-ll", "aa-hsfl-ll"):
        paper, network = (seconds(alone, scheme, model).round for model in MODELS)
        assert network <= paper * (1 + 1e-12)


@pytest.mark.parametrize("kind", LINKS)
@given(data=st.data())
@relaxed
def test_in_a_long_epoch_one_more_batch_adds_what_batch_says(kind, data):
    instance = data.draw(instances(kind))
    count, work = len(instance.fleet), replace(instance.work, epochs=1)
    for scheme, model in EVERY_WAY:
        long, longer = (
            seconds(
                replace(
                    instance,
                    work=work,
                    fleet=replace(
                        instance.fleet,
                        examples=np.full(count, work.batch * batches * work.portions),
                    ),
                ),
                scheme,
                model,
            )
            for batches in (10**7, 10**7 + 1000)
        )
        assert (longer.round - long.round) / 1000 == pytest.approx(long.batch, rel=1e-5)


# ---------------------------------------------------------------- by hand


def two_clients(**links):
    """Layers of 6, 6, 6, 6 FLOP; client a at 2 FLOP/s, b at 3 FLOP/s, the server at 12 FLOP/s."""
    profile = make_profile([6, 6, 6, 6], [10, 20, 30, 40], [4, 4, 8, 2])
    fleet = make_fleet([2, 3], [5, 3], 12, [4, 2], **links)
    return fleet, Workload(profile, batch=2, epochs=1)


def test_the_paper_model_of_two_clients_worked_out_by_hand():
    fleet, work = two_clients(between=[[0, 8], [8, 0]])
    seconds = round_seconds(
        fleet, work, Placement.three_tiers(2, 3, [0, 0]), SCHEMES["aa-hsfl-ll"], "paper"
    )
    # T1: a fetches 60 bytes at 4, b fetches 30 at 2. Forward: a 24/2 + 2*12/2 + 16/4; b 24/3 + 8/8
    # + 2*12/2 + 16/4. Backward: a 2*2*12/2 + 2*24/2; b 24 + 8/8 + 2*24/3. Server: 3*2*12/12.
    assert seconds.download == seconds.upload == 15
    assert (seconds.forward, seconds.backward, seconds.server) == (28, 48, 6)
    assert seconds.round == 15 + 3 * (28 + 48) + 15


def test_the_network_model_of_two_clients_worked_out_by_hand():
    fleet, work = two_clients(between=[[0, 8], [8, 0]])
    seconds = round_seconds(
        fleet, work, Placement.three_tiers(2, 3, [0, 0]), SCHEMES["aa-hsfl-ll"], "network"
    )
    # A batch of its own takes a 3*24/2 s for layers 1..2 and 3*12/2 s for layer 3, one of b as much
    # for layer 3: its processor is busy for 72 s. The last batch's way through is 12 + 6 + 8 + 6 s.
    assert (seconds.forward, seconds.backward, seconds.server) == (26, 36, 6)
    assert seconds.batch == 72
    assert seconds.round == 15 + max(3 * 72, 2 * 72 + 32) + 15


def test_a_shared_radio_can_be_the_slowest_stage():
    fleet, work = two_clients(access=[0.25, 0.5])
    seconds = round_seconds(
        fleet, work, Placement.three_tiers(2, 3, [0, 0]), SCHEMES["aa-hsfl-ll"], "network"
    )
    # b sends and receives 8 bytes at the slower end's 0.25 byte/s: a chain of 24 + 64 + 18 s,
    # and a radio at a that is busy for 64 + 2*16/4 s.
    assert seconds.batch == 24 + 64 + 18


def test_a_radio_that_many_share_sets_the_pace():
    profile = make_profile([1, 1, 1, 1], [1, 1, 1, 1], [1, 10, 1, 1])
    fleet = make_fleet([100] * 4, [4] * 4, 100, [10] * 4, access=[10] * 4)
    seconds = round_seconds(
        fleet,
        Workload(profile, batch=1, epochs=1),
        Placement.three_tiers(2, 3, [0] * 4),
        SCHEMES["aa-hsfl-ll"],
        "network",
    )
    # Three clients send and receive 10 bytes at 10 bytes/s, and a uploads 4 bytes at 10 bytes/s.
    assert seconds.batch == pytest.approx(6.4)
    assert seconds.round == pytest.approx(2 * 0.3 + 4 * 6.4)


def test_ragged_clients_count_the_batches_of_the_largest():
    fleet = make_fleet([1, 1, 1], [1, 9, 4], 1, [1, 1, 1], access=[1, 1, 1])
    assert [fleet.batches_per_epoch(batch) for batch in (1, 4, 9, 10)] == [9, 3, 1, 1]


# ---------------------------------------------------------------- the workload


@given(instances())
@relaxed
def test_the_workload_adds_up_layers_as_the_page_does(instance):
    work, page = instance.work, slow_twin.Page(instance.fleet, instance.work, "sfl")
    for last in range(1, page.L + 1):
        assert work.activations(last) == page.G(last)
        for first in range(1, last + 2):
            assert work.forward(first, last) == page.F(first, last)
            assert work.weights(first, last) == page.A(first, last)


def test_the_workload_takes_arrays_of_layers():
    work = Workload(make_profile([1, 2, 3], [4, 5, 6], [7, 8, 9]), batch=2)
    assert work.forward(np.array([1, 2, 3]), np.array([3, 2, 2])).tolist() == [12, 4, 0]
    assert work.weights(1, np.array([1, 3])).tolist() == [4, 15]
    assert work.activations(np.array([3, 1])).tolist() == [18, 14]


def test_a_workload_has_the_papers_batch_and_epochs_unless_told():
    work = Workload(make_profile([1, 1], [1, 1], [1, 1]))
    assert (work.batch, work.epochs) == (32, 3)


@pytest.mark.parametrize(("batch", "epochs", "key"), [(0, 1, "batch"), (1, 0, "epochs")])
def test_a_workload_of_nothing_is_refused(batch, epochs, key):
    with pytest.raises(InputError, match=f"{key} is 0; expected at least 1"):
        Workload(make_profile([1, 1], [1, 1], [1, 1]), batch=batch, epochs=epochs)
