"""Nodes pace themselves: whatever order links deliver in, the same is trained and averaged."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines.instances import placement, reference, task, whole
from tiercut.engines.schedule import BatchOver, EpochOver, Pace, Schedule, Turn, make_schedule
from tiercut.engines.task import Round


class AnyOrder:
    """Links deliver in order; which link is next is drawn."""

    def __init__(self, engine, seed):
        self._transport, self._random = engine.transport, np.random.default_rng(seed)
        engine.transport.deliver = self.deliver

    def deliver(self):
        waiting = self._transport._waiting
        while waiting:
            first = {}
            for position, (receiver, message) in enumerate(waiting):
                first.setdefault((receiver, getattr(message, "client", None)), position)
            place = self._random.choice(sorted(first.values()))
            receiver, message = waiting[place]
            del waiting[place]
            self._transport._receivers[receiver](message)


def trained(work, plans, seed=None):
    engine = reference(work)
    if seed is not None:
        AnyOrder(engine, seed)
    results = [engine.run_round(plan) for plan in plans]
    return engine.weights(), results


@pytest.mark.no_cover
@settings(max_examples=25, deadline=None)
@given(
    scheme=st.sampled_from(["aa-hsfl-ll", "sfl", "multihop", "dtfl"]),
    intervals=st.tuples(*[st.sampled_from([None, "batch", 2, "epoch", "round"])] * 2),
    leaving=st.integers(0, 4),
    seed=st.integers(0, 1000),
)
def test_the_order_of_delivery_changes_nothing(scheme, intervals, leaving, seed):
    work = task(scheme, intervals=intervals if scheme == "aa-hsfl-ll" else (None, intervals[1]))
    present = np.ones((work.epochs, len(work.clients)), dtype=bool)
    present[1:, leaving] = False
    plans = [whole(work, 0), Round(1, placement(work), present)]
    expected, first = trained(work, plans)
    weights, second = trained(work, plans, seed)
    assert first == second
    for key, value in expected.items():
        assert torch.equal(weights[key], value), key


@given(st.data())
def test_a_pace_ends_every_batch_and_epoch_once_and_in_order(data):
    sizes = data.draw(
        st.dictionaries(st.integers(0, 5), st.lists(st.integers(1, 9), min_size=1, max_size=4))
    )
    epochs = data.draw(st.integers(1, 3))
    interval = data.draw(st.sampled_from(["batch", 2, "epoch", "round"]))
    turns = {
        n: Turn("c", 9, tuple(s), 7, data.draw(st.integers(1, epochs))) for n, s in sizes.items()
    }
    schedule = Schedule(0, epochs, turns, turns.keys())
    pace = Pace(schedule, sizes.keys(), interval)
    left = {n: list(turns[n].steps) for n in sizes}
    ended = []
    while not pace.over:
        moment = pace.next_moment()
        if moment is not None:
            ended.append(moment)
            if isinstance(moment, EpochOver):
                pace.begin_epoch()
            continue
        ready = [n for n in sizes if left[n] and pace.is_open(n, left[n][0])]
        assert ready, "somebody can always go on"
        n = data.draw(st.sampled_from(ready))
        left[n].pop(0)
        pace.count(n)
    assert not any(left.values())
    assert [m.number for m in ended if isinstance(m, EpochOver)] == list(range(1, epochs + 1))
    if interval in ("batch", 2):
        total = sum(sum(m.sizes.values()) for m in ended if isinstance(m, BatchOver))
        assert total == sum(turns[n].attends * sum(sizes[n]) for n in sizes)


def test_nobody_waits_for_a_client_that_was_dropped():
    turn = Turn("c", 4, (4,), 0, 1)
    schedule = Schedule(0, 1, {0: turn, 1: turn}, {0, 1})
    pace = Pace(schedule, {0, 1}, "batch")
    pace.count(0)
    assert pace.next_moment() is None
    pace.drop(1)
    assert pace.next_moment() == BatchOver(1, {0: 4})


def test_a_turn_knows_the_place_of_every_step():
    work = task(sizes=(9, 5))
    turns = make_schedule(work, whole(work, 3), [10, 0]).turns
    assert list(turns[0].steps) == [10, 11, 12, 13]
    assert [turns[0].place(step) for step in turns[0].steps] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert [turn.sizes for turn in turns.values()] == [(4, 4), (4,)]


@pytest.mark.parametrize("intervals", [(None, None), ("batch", "batch")])
def test_a_host_goes_on_without_a_lost_client(intervals):
    work = task(intervals=intervals)
    engine = reference(work)
    lost = 1

    def forget():
        for host in engine.hosts:
            if lost in host.duties and host is not engine.clients[lost]:
                host.drop(lost)

    plan = whole(work, 0)
    start = engine.clients[lost].start
    engine.clients[lost].start = forget
    engine.run_round(plan)
    assert engine.server.pace.over
    assert lost not in engine.server.present
    engine.clients[lost].start = start
    engine.run_round(whole(work, 1))
    assert lost in engine.server.present
