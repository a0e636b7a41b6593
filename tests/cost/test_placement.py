"""Who runs what for whom: the placement's own sums, and what check_placement refuses."""

import numpy as np
import pytest
from hypothesis import given

from tests.cost.instances import ALL_SCHEMES, instances, make_fleet, relaxed
from tiercut.cost import SCHEMES, Placement, check_placement, scheme_named
from tiercut.errors import InputError

DEPTH = 6


def three_clients(**links):
    """Clients a, b and c; on independent links a and c have none to each other."""
    links = links or {"between": [[0, 5, 0], [5, 0, 5], [0, 5, 0]]}
    return make_fleet([1] * 3, [1] * 3, 1, [1] * 3, **links)


def refusal(placement, fleet=None):
    with pytest.raises(InputError) as refused:
        check_placement(placement, fleet or three_clients(), DEPTH)
    return str(refused.value)


@given(instances())
@relaxed
def test_every_placement_the_tests_draw_is_accepted(instance):
    for scheme in ALL_SCHEMES:
        check_placement(instance.placement(scheme), instance.fleet, instance.work.profile.depth)


@given(instances())
@relaxed
def test_hosted_models_add_up_to_the_clients(instance):
    placement = instance.three_tiers
    assert placement.hosted.sum() == len(instance.fleet)
    assert (placement.hosted > 0).tolist() == placement.is_aggregator.tolist()
    assert placement.aggregators.tolist() == sorted(set(placement.aggregator_of.tolist()))


def test_three_tiers_gives_everybody_the_same_layers():
    placement = Placement.three_tiers(2, 4, [1, 1, 1])
    assert placement.aggregator_layers.tolist() == [2, 2, 2]
    assert placement.cut_layers.tolist() == [4, 4, 4]
    assert placement.hosted.tolist() == [0, 3, 0]
    assert placement.is_aggregator.tolist() == [False, True, False]


def test_on_two_tiers_everybody_serves_itself_up_to_its_cut():
    placement = Placement.two_tiers([1, 5, 3])
    assert placement.aggregator_layers.tolist() == placement.cut_layers.tolist() == [1, 5, 3]
    assert placement.aggregators.tolist() == [0, 1, 2]
    assert placement.hosted.tolist() == [1, 1, 1]


def test_a_scheme_on_two_tiers_drops_the_groups_and_keeps_the_cut():
    placement = Placement.three_tiers(2, 4, [1, 1, 1])
    assert placement.for_scheme(SCHEMES["hsfl-ll"]) is placement
    alone = placement.for_scheme(SCHEMES["sfl"])
    assert alone.cut_layers.tolist() == alone.aggregator_layers.tolist() == [4, 4, 4]
    assert alone.aggregators.tolist() == [0, 1, 2]


def test_a_plan_for_another_number_of_clients_is_refused():
    message = refusal(Placement.three_tiers(2, 4, [0, 0]))
    assert message.startswith("the plan places 2 clients and the fleet has 3;")
    assert "tiercut plan" in message


@pytest.mark.parametrize(("index", "place"), [(3, 2), (-1, 0), (-1, 2), (100, 1)])
def test_an_aggregator_that_is_no_client_is_refused(index, place):
    served_by = [0, 0, 0]
    served_by[place] = index
    message = refusal(Placement.three_tiers(2, 4, served_by))
    assert message == f"aggregator_of[{place}] is {index}; expected a client's index, 0 to 2"


def test_an_aggregator_that_serves_others_and_not_itself_is_refused():
    message = refusal(Placement.three_tiers(2, 4, [1, 2, 2]))
    assert message == (
        "aggregator_of[1] is 2, but client 'b' serves others; an aggregator must serve itself"
    )


def test_a_pair_without_a_link_is_refused_by_name():
    message = refusal(Placement.three_tiers(2, 4, [2, 1, 2]))
    assert message == "client 'a' is served by 'c', and the fleet has no link between them"


def test_with_access_rates_every_pair_has_a_link():
    fleet = three_clients(access=[1, 2, 3])
    check_placement(Placement.three_tiers(2, 4, [2, 1, 2]), fleet, DEPTH)


@pytest.mark.parametrize("cut", [0, -1, DEPTH, DEPTH + 1])
def test_a_cut_the_model_does_not_have_is_refused(cut):
    message = refusal(Placement.two_tiers([1, DEPTH - 1, cut]))
    assert message.startswith(f"the cut layer is {cut};")
    assert "1 to 5" in message


@pytest.mark.parametrize(("h", "v"), [(0, 3), (-2, 3), (4, 3)])
def test_an_aggregator_layer_outside_the_cut_is_refused(h, v):
    message = refusal(Placement.three_tiers(h, v, [1, 1, 1]))
    assert message == f"the aggregator layer is {h}; expected a layer from 1 to the cut layer {v}"


@pytest.mark.parametrize("wrong", [0, 5])
def test_the_one_wrong_aggregator_layer_among_good_ones_is_named(wrong):
    layers = np.array([1, 4, wrong]), np.array([4, 4, 4])
    message = refusal(Placement(*layers, np.arange(3)))
    assert message.startswith(f"the aggregator layer is {wrong};")


def test_the_shallowest_and_deepest_cuts_are_accepted():
    check_placement(Placement.two_tiers([1, DEPTH - 1, 1]), three_clients(), DEPTH)


def test_the_six_schemes_of_the_table_are_known():
    assert set(ALL_SCHEMES) == {"sfl", "multihop", "locsfl", "dtfl", "hsfl-ll", "aa-hsfl-ll"}


def test_an_unknown_scheme_is_refused_with_the_nearest_name():
    with pytest.raises(InputError, match=r"no scheme 'locfsl' \(did you mean 'locsfl'\?\)"):
        scheme_named("locfsl")
