"""The round as events: its end equals the closed form, and its critical path is a chain."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cost.instances import (
    EVERY_WAY,
    LINKS,
    instances,
    make_fleet,
    make_profile,
    relaxed,
)
from tiercut.cost import SCHEMES, Placement, Workload, round_seconds
from tiercut.cost.timeline import SERVER, Timeline, batch_timeline, round_timeline


def timeline_of(instance, scheme, model):
    placement = instance.placement(scheme)
    return round_timeline(instance.fleet, instance.work, placement, SCHEMES[scheme], model)


@pytest.mark.parametrize("kind", LINKS)
@given(data=st.data())
@relaxed
def test_the_timeline_ends_when_the_closed_form_says(kind, data):
    instance = data.draw(instances(kind, max_clients=5))
    for scheme, model in EVERY_WAY:
        placement = instance.placement(scheme)
        closed = round_seconds(instance.fleet, instance.work, placement, SCHEMES[scheme], model)
        end = timeline_of(instance, scheme, model).end
        assert end == pytest.approx(closed.round, rel=1e-9)


@given(instances(max_clients=4))
@relaxed
def test_one_batch_alone_is_a_round_of_one_batch_without_its_weights(instance):
    fleet = replace(instance.fleet, examples=np.ones(len(instance.fleet), dtype=np.int64))
    work = replace(instance.work, epochs=1)
    for scheme, model in EVERY_WAY:
        arguments = fleet, work, instance.placement(scheme), SCHEMES[scheme], model
        closed = round_seconds(*arguments)
        alone = closed.round - closed.download - closed.upload
        assert batch_timeline(*arguments).end == pytest.approx(alone, rel=1e-9)


@given(instance=instances(max_clients=4), way=st.sampled_from(EVERY_WAY))
@relaxed
def test_every_event_starts_when_the_last_it_waits_for_ends(instance, way):
    events = timeline_of(instance, *way).events
    for position, event in enumerate(events):
        assert event.end >= event.start >= 0
        assert all(earlier < position for earlier in event.after)
        assert event.start == max((events[i].end for i in event.after), default=0.0)


@given(instance=instances(max_clients=4), way=st.sampled_from(EVERY_WAY))
@relaxed
def test_the_critical_path_is_a_chain_from_the_start_to_the_rounds_end(instance, way):
    timeline = timeline_of(instance, *way)
    path = [timeline.events[i] for i in timeline.critical_path()]
    assert path[0].start == 0
    assert path[-1].end == timeline.end
    for former, latter in pairwise(path):
        assert latter.start == former.end
        assert former in [timeline.events[i] for i in latter.after]


@given(instance=instances(max_clients=4), way=st.sampled_from(EVERY_WAY))
@relaxed
def test_no_client_computes_its_own_layers_for_two_batches_at_once(instance, way):
    events = timeline_of(instance, *way).events
    for n in range(len(instance.fleet)):
        own = [e for e in events if e.kind == "compute" and e.client == n]
        for former, latter in pairwise(own):
            assert latter.start >= former.end


@given(instance=instances(max_clients=4), way=st.sampled_from(EVERY_WAY))
@relaxed
def test_the_server_does_one_batch_after_another_and_all_of_them(instance, way):
    batches = instance.work.epochs * instance.work.batches(instance.fleet)
    events = timeline_of(instance, *way).events
    served = [e for e in events if e.kind == "compute" and e.node == e.client == SERVER]
    assert len(served) == batches
    for former, latter in pairwise(served):
        assert latter.start >= former.end


@given(instance=instances(max_clients=4))
@relaxed
def test_gradients_come_back_from_the_server_only_without_a_local_loss(instance):
    for scheme, model in EVERY_WAY:
        labels = {event.label for event in timeline_of(instance, scheme, model).events}
        assert ("gradients v" in labels) == (not SCHEMES[scheme].local_loss)


@given(instance=instances(max_clients=4))
@relaxed
def test_clients_send_to_their_aggregator_and_aggregators_send_back(instance):
    served_by = instance.three_tiers.aggregator_of
    events = timeline_of(instance, "aa-hsfl-ll", "network").events
    for event in events:
        if event.label == "activations h":
            assert (event.node, event.peer) == (event.client, served_by[event.client])
        if event.label == "gradients h":
            assert (event.node, event.peer) == (served_by[event.client], event.client)
        if event.label in ("activations h", "gradients h"):
            assert event.node != event.peer


@given(instance=instances(max_clients=4))
@relaxed
def test_only_what_happens_is_an_event(instance):
    for scheme, model in EVERY_WAY:
        events = timeline_of(instance, scheme, model).events
        if not instance.fleet.links.shared:
            assert all(event.kind != "radio" for event in events)
        if not SCHEMES[scheme].three_tiers:
            assert all(event.kind != "processor" for event in events)
            below = {e.label for e in events if e.kind == "compute" and e.node != SERVER}
            assert all(label[2:].startswith(" 1..") for label in below)


def test_the_server_runs_the_layers_after_the_shallowest_cut():
    work = Workload(make_profile([1] * 6, [1] * 6, [1] * 6))
    fleet = make_fleet([1, 1], [1, 1], 1, [1, 1], access=[1, 1])
    events = batch_timeline(
        fleet, work, Placement.two_tiers([4, 2]), SCHEMES["dtfl"], "network"
    ).events
    assert [e.label for e in events if e.node == SERVER and e.kind == "compute"] == ["FP+BP 3..L"]


def test_a_busy_radio_sets_the_pace_of_a_group_however_short_its_times():
    profile = make_profile([1] * 4, [1] * 4, [1, 10, 1, 1])
    fleet = make_fleet([1e6] * 4, [4] * 4, 1e6, [1000] * 4, access=[1000] * 4)
    arguments = fleet, Workload(profile, 1, 1), Placement.three_tiers(2, 3, [0] * 4)
    timeline = round_timeline(*arguments, SCHEMES["aa-hsfl-ll"], "network")
    busy = [e for e in timeline.events if e.kind == "radio"]
    assert [e.end - e.start for e in busy] == pytest.approx([0.064] * 4)
    assert timeline.end == pytest.approx(2 * 0.003 + 4 * 0.064)


def test_an_empty_timeline_ends_at_once_and_has_no_critical_path():
    assert Timeline().end == 0
    assert Timeline().critical_path() == []


def test_the_critical_path_of_a_hand_made_graph_takes_the_slow_branch():
    timeline = Timeline()
    start = timeline.add("compute", 0, "start", 1)
    fast = timeline.add("send", 0, "fast", 1, (start,))
    slow = timeline.add("send", 1, "slow", 5, (start,))
    join = timeline.barrier("join", (fast, slow))
    timeline.add("compute", 2, "short", 1)
    assert timeline.critical_path()[:2] == [start, slow]
    assert timeline.events[join].start == 6
    assert timeline.end == 6


def test_two_clients_on_barriers_worked_out_by_hand():
    profile = make_profile([6, 6, 6, 6], [10, 20, 30, 40], [4, 4, 8, 2])
    fleet = make_fleet([2, 3], [5, 3], 12, [4, 2], between=[[0, 8], [8, 0]])
    work = Workload(profile, batch=2, epochs=1)
    placement = Placement.three_tiers(2, 3, [0, 0])
    timeline = batch_timeline(fleet, work, placement, SCHEMES["aa-hsfl-ll"], "paper")
    shown = [(e.kind, e.node, e.label, e.start, e.end) for e in timeline.events if e.client == 1]
    assert shown == [
        ("compute", 1, "FP 1..2", 0, 8),
        ("send", 1, "activations h", 8, 9),
        ("compute", 0, "FP 3..3", 9, 21),
        ("send", 0, "activations v", 21, 25),
        ("compute", 0, "BP 3..3", 28, 52),
        ("send", 0, "gradients h", 52, 53),
        ("compute", 1, "BP 1..2", 53, 69),
    ]
    assert timeline.end == 28 + 48


def test_under_a_local_loss_the_network_lets_clients_run_ahead_of_a_slow_server():
    profile = make_profile([1, 1, 1, 100], [0, 0, 0, 0], [1, 1, 1, 1])
    fleet = make_fleet([100], [5], 1, [100], between=[[0]])
    work = Workload(profile, batch=1, epochs=1)
    placement = Placement.two_tiers([3])
    events = round_timeline(fleet, work, placement, SCHEMES["locsfl"], "network").events
    backward = [e for e in events if e.label == "BP 1..3"]
    served = [e for e in events if e.node == SERVER and e.kind == "compute"]
    assert len(backward) == len(served) == 5
    assert backward[-1].end < served[0].end
