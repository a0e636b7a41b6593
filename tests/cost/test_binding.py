"""What holds a round back: the sentence names what takes most of the critical path."""

import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cost.instances import (
    EVERY_WAY,
    LINKS,
    MODELS,
    instances,
    make_fleet,
    make_profile,
    relaxed,
)
from tiercut.cost import SCHEMES, Placement, Workload, binding, round_seconds
from tiercut.cost.delay import round_terms
from tiercut.cost.timeline import SERVER, round_timeline
from tiercut.units import show_time

WEIGHTS, CLIENT, AGGREGATOR, LINK, RADIO, THE_SERVER = range(6)


def named(sentence):
    """What the sentence names, as (kind of part, names of the nodes)."""
    forms = {
        WEIGHTS: r"moving weights over the link of '(.)' to (the server)",
        CLIENT: r"client '(.)' computing",
        AGGREGATOR: r"aggregator '(.)' computing",
        LINK: r"the link of '(.)' to (?:'(.)'|(the server))",
        RADIO: r"the radio of '(.)'",
        THE_SERVER: r"(the server) holds",
    }
    for kind, form in forms.items():
        if found := re.match(form, sentence):
            return kind, frozenset(name for name in found.groups() if name)
    raise AssertionError(sentence)


def spent_on_the_critical_path(fleet, work, placement, scheme, model):
    """Seconds of the critical path by what spends them."""
    timeline = round_timeline(fleet, work, placement, scheme, model)
    spent = Counter()
    for event in (timeline.events[i] for i in timeline.critical_path()):
        node, peer = (
            "the server" if i == SERVER else fleet.names[i] for i in (event.node, event.peer)
        )
        own_layers = event.label.split()[-1].startswith("1..")
        alone = event.node != SERVER and placement.hosted[event.node] == 1
        if event.kind == "send":
            moved = WEIGHTS if event.label.startswith("weights") else LINK
            part = moved, frozenset({node, peer})
        elif event.kind == "processor":
            terms = round_terms(fleet, work, placement, scheme)
            spent[CLIENT, frozenset({node})] += 3 * terms.weak[event.node]
            spent[AGGREGATOR, frozenset({node})] += 3 * terms.hosting[event.node]
            continue
        elif event.kind == "radio":
            # A radio that serves nobody else does nothing but upload: it is the link.
            part = (LINK, frozenset({node, "the server"})) if alone else (RADIO, frozenset({node}))
        elif event.node == SERVER:
            part = THE_SERVER, frozenset({node})
        else:
            part = CLIENT if own_layers else AGGREGATOR, frozenset({node})
        spent[part] += event.end - event.start
    return spent


def without_ties(instance):
    """The same round with speeds no two of which are alike, so that one path is critical."""
    fleet, profile = instance.fleet, instance.work.profile
    count = len(fleet)
    unlike = 1 + 0.01 * np.sqrt(np.arange(2, 3 * count + 2)).reshape(3, count)
    rates = fleet.links.rates
    rates = rates * unlike[2] if fleet.links.shared else rates * np.outer(unlike[2], unlike[2])
    layers = [layer.model_copy(update={"flops": layer.flops + 1}) for layer in profile.layers]
    return replace(
        instance,
        fleet=replace(
            fleet,
            throughput=fleet.throughput * unlike[0],
            to_server=fleet.to_server * unlike[1],
            links=type(fleet.links)(rates),
        ),
        work=replace(instance.work, profile=profile.model_copy(update={"layers": tuple(layers)})),
    )


@pytest.mark.parametrize("kind", LINKS)
@given(data=st.data())
@relaxed
def test_the_sentence_names_the_largest_part_of_the_critical_path(kind, data):
    instance = without_ties(data.draw(instances(kind, max_clients=4)))
    for scheme, model in EVERY_WAY:
        placement = instance.placement(scheme)
        arguments = instance.fleet, instance.work, placement, SCHEMES[scheme], model
        sentence = binding(*arguments)
        spent = spent_on_the_critical_path(*arguments)
        most = max(spent.values())
        assert spent[named(sentence)] == pytest.approx(most, rel=1e-6), sentence


@given(instance=instances(max_clients=4), way=st.sampled_from(EVERY_WAY))
@relaxed
def test_the_sentence_ends_with_a_share_of_the_round(instance, way):
    scheme, model = way
    arguments = instance.placement(scheme), SCHEMES[scheme], model
    share = re.search(r", (\d+)% of the round$", binding(instance.fleet, instance.work, *arguments))
    assert 0 < int(share[1]) <= 100


# ---------------------------------------------------------------- by hand

WORK = Workload(make_profile([10] * 5, [10] * 5, [10] * 5), batch=1, epochs=1)
GROUP = Placement.three_tiers(2, 3, [0, 0, 2])
"""Clients a and b on a, c alone."""


def three_clients(*, throughput=(100, 100, 100), server=1e6, to_server=(100, 100, 100), ab=100):
    between = [[0, ab, 100], [ab, 0, 100], [100, 100, 0]]
    return make_fleet(throughput, [20] * 3, server, to_server, between=between)


def sentence(fleet, scheme, model):
    """The sentence, after checking its seconds and share against the critical path."""
    placement = GROUP.for_scheme(SCHEMES[scheme])
    arguments = fleet, WORK, placement, SCHEMES[scheme], model
    text = binding(*arguments)
    spent = spent_on_the_critical_path(*arguments)[named(text)]
    share = spent / round_seconds(*arguments).round
    assert text.endswith(f" holds the round back: {show_time(spent)}, {share:.0%} of the round")
    return text


@pytest.mark.parametrize(("scheme", "model"), EVERY_WAY)
def test_a_slow_server_holds_everybody_back(scheme, model):
    assert sentence(three_clients(server=1), scheme, model).startswith("the server holds")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("scheme", ["multihop", "hsfl-ll", "aa-hsfl-ll"])
def test_one_slow_aggregator_is_named_with_its_layers_and_models(scheme, model):
    work = replace(WORK, profile=make_profile([1, 1, 50, 1, 1], [10] * 5, [10] * 5))
    arguments = three_clients(throughput=(5, 100, 100)), work, GROUP, SCHEMES[scheme], model
    found = binding(*arguments)
    assert found.startswith("aggregator 'a' computing layers 3..3 for 2 models holds")
    assert spent_on_the_critical_path(*arguments)[AGGREGATOR, frozenset("a")] > 0


@pytest.mark.parametrize(("scheme", "model"), EVERY_WAY)
def test_one_slow_client_is_named_with_its_layers(scheme, model):
    layers = 2 if SCHEMES[scheme].three_tiers else 3
    found = sentence(three_clients(throughput=(100, 1, 100)), scheme, model)
    assert found.startswith(f"client 'b' computing layers 1..{layers} holds")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("scheme", ["multihop", "hsfl-ll", "aa-hsfl-ll"])
def test_one_slow_link_between_clients_is_named_with_its_rate(scheme, model):
    found = sentence(three_clients(ab=0.5), scheme, model)
    assert found.startswith("the link of 'b' to 'a' (4 bps) holds")


@pytest.mark.parametrize(("scheme", "model"), EVERY_WAY)
def test_one_slow_uplink_is_named_with_its_rate(scheme, model):
    found = sentence(three_clients(to_server=(100, 100, 1)), scheme, model)
    assert found.startswith("the link of 'c' to the server (8 bps) holds")


@pytest.mark.parametrize(("scheme", "model"), EVERY_WAY)
def test_heavy_weights_on_a_slow_link_are_named_as_such(scheme, model):
    work = replace(WORK, profile=make_profile([1] * 5, [1e6] * 5, [1] * 5))
    placement = GROUP.for_scheme(SCHEMES[scheme])
    fleet = three_clients(to_server=(100, 100, 50))
    found = binding(fleet, work, placement, SCHEMES[scheme], model)
    assert found.startswith("moving weights over the link of 'c' to the server (400 bps) holds")


def test_a_busy_radio_is_named():
    fleet = make_fleet([1e6] * 4, [20] * 4, 1e6, [100] * 4, access=[10] * 4)
    placement = Placement.three_tiers(2, 3, [0] * 4)
    found = binding(fleet, WORK, placement, SCHEMES["aa-hsfl-ll"], "network")
    assert found.startswith("the radio of 'a' holds the round back: ")


def test_in_a_single_batch_the_way_through_counts_and_not_the_slowest_stage():
    # A batch takes a 3 s below the cut, of which the forward pass is 1 s, and the server 2.25 s.
    profile = make_profile([1, 0.75], [0, 0], [1e-9, 1])
    fleet = make_fleet([1], [1], 1, [1], between=[[0]])
    arguments = Workload(profile, 1, 1), Placement.two_tiers([1]), SCHEMES["locsfl"], "network"
    assert binding(fleet, *arguments) == "the server holds the round back: 2.25 s, 69% of the round"
    faster = replace(fleet, server_throughput=1.5)
    assert binding(faster, *arguments) == (
        "client 'a' computing layers 1..1 holds the round back: 3 s, 100% of the round"
    )
