"""Whole groups, shares that are fair, and nothing that depends on what was before."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tiercut.engines.ray.packing import pack

POPULATION = 40


@st.composite
def turnouts(draw):
    """Clients who take part, their aggregators and their work."""
    numbers = st.integers(0, POPULATION - 1)
    clients = np.array(sorted(draw(st.sets(numbers, min_size=1))))
    leaders = draw(st.lists(numbers, min_size=1, max_size=8))
    groups = np.array([draw(st.sampled_from(leaders)) for _ in clients])
    work = np.array([draw(st.integers(1, 9)) for _ in clients])
    return clients, groups, work


@given(turnouts(), st.integers(1, 5))
def test_everybody_is_on_one_worker_and_groups_are_whole(turnout, workers):
    clients, groups, work = turnout
    rosters = pack(clients, groups, work, POPULATION, workers)
    assert len(rosters) == workers
    assert sorted(np.concatenate(rosters).tolist()) == clients.tolist()
    assert all((np.diff(roster) > 0).all() for roster in rosters)
    places = [set(groups[np.isin(clients, roster)].tolist()) for roster in rosters]
    assert sum(map(len, places)) == len(set(groups.tolist()))


@given(turnouts(), st.integers(1, 5))
def test_nobody_has_much_more_than_a_share(turnout, workers):
    clients, groups, work = turnout
    rosters = pack(clients, groups, work, POPULATION, workers)
    largest = max(work[groups == group].sum() for group in groups)
    loads = [work[np.isin(clients, roster)].sum() for roster in rosters]
    assert max(loads) <= work.sum() / workers + largest


@given(turnouts(), st.integers(1, 5))
def test_clients_without_groups_are_spread_evenly(turnout, workers):
    clients, _, _ = turnout
    rosters = pack(clients, clients, np.ones_like(clients), POPULATION, workers)
    assert max(map(len, rosters)) <= -(-len(clients) // workers)


def test_a_group_goes_home_whoever_else_takes_part():
    everybody = np.arange(POPULATION)
    groups = everybody // 4 * 4
    home = pack(everybody, groups, np.ones_like(everybody), POPULATION, 5)
    assert np.array_equal(home, np.split(everybody, 5))
    some = everybody[groups % 8 == 0]
    away = pack(some, groups[some], np.ones_like(some), POPULATION, 5)
    assert np.array_equal(away, np.split(some, 5))
