"""Bytes of a round: equal to the table of the specification, kind by kind."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cost import slow_twin
from tests.cost.instances import ALL_SCHEMES, instances, make_fleet, make_profile, relaxed
from tiercut.cost import SCHEMES, Placement, Workload, round_bytes
from tiercut.models.profile import HeadCost

KINDS = (
    "weights_down",
    "weights_up",
    "activations_to_aggregator",
    "gradients_from_aggregator",
    "activations_to_server",
    "gradients_from_server",
)


def traffic(instance, scheme):
    return round_bytes(
        instance.fleet, instance.work, instance.placement(scheme), SCHEMES[scheme]
    ).to_dict()


@given(instances())
@relaxed
def test_the_total_equals_the_last_column_of_the_table(instance):
    served_by = instance.three_tiers.aggregator_of.tolist()
    for scheme in ALL_SCHEMES:
        page = slow_twin.Page(instance.fleet, instance.work, scheme)
        expected = slow_twin.total_bytes(
            page, scheme, instance.h, instance.v, instance.own_cuts, served_by
        )
        assert traffic(instance, scheme)["total"] == expected


@given(instances())
@relaxed
def test_the_total_is_the_sum_of_the_kinds_without_labels_and_heads(instance):
    for scheme in ALL_SCHEMES:
        found = traffic(instance, scheme)
        assert set(found) == {*KINDS, "total", "labels", "head_weights"}
        assert found["total"] == sum(found[kind] for kind in KINDS)


@given(instances())
@relaxed
def test_three_tiers_never_send_less_than_locsfl_cut_at_h_or_at_v(instance):
    """docs/notation.md says why."""
    cuts = [Placement.two_tiers([cut] * len(instance.fleet)) for cut in (instance.h, instance.v)]
    scheme = SCHEMES["locsfl"]
    leanest = min(round_bytes(instance.fleet, instance.work, cut, scheme).total for cut in cuts)
    assert traffic(instance, "aa-hsfl-ll")["total"] >= leanest


@given(instances())
@relaxed
def test_every_kind_but_activations_to_the_server_travels_both_ways(instance):
    for scheme in ALL_SCHEMES:
        found = traffic(instance, scheme)
        assert found["weights_down"] == found["weights_up"]
        assert found["activations_to_aggregator"] == found["gradients_from_aggregator"]
        returned = 0 if SCHEMES[scheme].local_loss else found["activations_to_server"]
        assert found["gradients_from_server"] == returned


@given(data=st.data())
@relaxed
def test_relabelling_the_clients_changes_no_kind(data):
    instance = data.draw(instances())
    order = data.draw(st.permutations(range(len(instance.fleet))))
    for scheme in ALL_SCHEMES:
        assert traffic(instance.relabelled(order), scheme) == traffic(instance, scheme)


@given(instances())
@relaxed
def test_three_tiers_with_everybody_an_aggregator_send_what_two_tiers_send(instance):
    alone = instance.with_everybody_an_aggregator()
    for three, two in (("hsfl-ll", "locsfl"), ("aa-hsfl-ll", "locsfl"), ("multihop", "sfl")):
        assert traffic(alone, three) == traffic(instance, two)


@given(instances())
@relaxed
def test_dtfl_with_one_cut_for_all_sends_what_locsfl_sends(instance):
    same = replace(instance, own_cuts=(instance.v,) * len(instance.fleet))
    assert traffic(same, "dtfl") == traffic(instance, "locsfl")


@given(instances())
@relaxed
def test_sfl_sends_the_bytes_of_locsfl_and_as_many_gradients_as_activations(instance):
    instance = instance.with_a_server_that_sees_all()
    sfl, locsfl = traffic(instance, "sfl"), traffic(instance, "locsfl")
    assert sfl["total"] - locsfl["total"] == locsfl["activations_to_server"]


def test_bytes_do_not_depend_on_speeds():
    profile = make_profile([1] * 4, [10, 20, 30, 40], [4, 3, 2, 1])
    placement = Placement.three_tiers(2, 3, [0, 0, 2])
    totals = {
        round_bytes(
            make_fleet([speed] * 3, [5, 3, 1], speed, [speed] * 3, access=[speed] * 3),
            Workload(profile, batch=2, epochs=1),
            placement,
            SCHEMES["aa-hsfl-ll"],
        ).total
        for speed in (1, 10, 1000)
    }
    # 2 [3 * 30 + 2 * 30] of weights, and in each of 3 batches 2 * 6 of the only hop and 3 * 4.
    assert totals == {2 * 150 + 3 * (12 + 12)}


def test_labels_travel_with_activations_on_every_hop():
    profile = make_profile([1] * 4, [1] * 4, [1] * 4)
    fleet = make_fleet([1] * 3, [4, 1, 1], 1, [1] * 3, access=[1] * 3)
    work = Workload(profile, batch=2, epochs=3)
    three = round_bytes(fleet, work, Placement.three_tiers(2, 3, [0, 0, 0]), SCHEMES["hsfl-ll"])
    two = round_bytes(fleet, work, Placement.two_tiers([3, 3, 3]), SCHEMES["locsfl"])
    labels = 3 * 2 * 2 * 8  # bytes of one client, over one link, in a round of 3 x 2 batches
    assert (three.labels, two.labels) == (5 * labels, 3 * labels)


def test_labels_go_up_with_the_share_that_the_server_sees():
    fleet = make_fleet([1] * 3, [4, 1, 1], 1, [1] * 3, access=[1] * 3)
    profile = make_profile([1] * 4, [1] * 4, [1] * 4)
    work = Workload(profile, batch=4, epochs=1, server_share=0.5)
    three = round_bytes(fleet, work, Placement.three_tiers(2, 3, [0, 0, 0]), SCHEMES["hsfl-ll"])
    multihop = Placement.three_tiers(2, 3, [0, 0, 0])
    all_up = round_bytes(fleet, work, multihop, SCHEMES["multihop"])
    assert (three.labels, all_up.labels) == (8 * (2 * 4 + 3 * 2), 8 * (2 * 4 + 3 * 4))


@pytest.mark.parametrize(
    ("scheme", "copies"),
    [("sfl", 0), ("multihop", 0), ("locsfl", 3), ("dtfl", 3), ("hsfl-ll", 2), ("aa-hsfl-ll", 2)],
)
def test_heads_travel_both_ways_wherever_there_is_a_local_loss(scheme, copies):
    heads = tuple(HeadCost(flops=1, weight_bytes=100 * layer) for layer in range(1, 5))
    work = Workload(make_profile([1] * 4, [1] * 4, [1] * 4, heads))
    fleet = make_fleet([1] * 3, [1] * 3, 1, [1] * 3, access=[1] * 3)
    placement = Placement.three_tiers(2, 3, [0, 0, 2]).for_scheme(SCHEMES[scheme])
    assert round_bytes(fleet, work, placement, SCHEMES[scheme]).head_weights == 2 * copies * 300


def test_without_known_heads_their_weights_count_as_nothing():
    work = Workload(make_profile([1] * 4, [1] * 4, [1] * 4))
    fleet = make_fleet([1], [1], 1, [1], access=[1])
    assert round_bytes(fleet, work, Placement.two_tiers([2]), SCHEMES["locsfl"]).head_weights == 0
