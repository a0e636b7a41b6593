import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tiercut.errors import InputError
from tiercut.fleet import Between, Fleet, sample_fleet
from tiercut.scenario import Event, FleetSection
from tiercut.seeds import Seeds
from tiercut.train.events import changed_fleet, check_events, share_of

SEEDS = Seeds(5)


def fleet(links="between", clients=6):
    return sample_fleet(FleetSection(clients=clients, links=links), Seeds(1))


def after(fleet, *events, number=2):
    return changed_fleet(fleet, events, number, SEEDS)


def by_name(fleet):
    """A fleet's numbers under its clients' names, whatever their order."""
    everybody = np.arange(len(fleet))
    rates = fleet.links.block(everybody, everybody)
    order = np.argsort(fleet.names)
    columns = (fleet.throughput, fleet.to_server, fleet.examples)
    return [fleet.names[n] for n in order], [c[order] for c in columns], rates[np.ix_(order, order)]


def test_nothing_happens_in_other_rounds():
    before = fleet()
    assert after(before, Event(round=3, share=1.0, leave=True)) is before


def test_named_clients_slow_down_and_nobody_else():
    before = fleet()
    now = after(before, Event(round=2, clients=("client-3", "client-1"), slow_down=2.0))
    expected = before.throughput.copy()
    expected[[0, 2]] /= 2
    assert_array_equal(now.throughput, expected)
    assert now.links is before.links


def test_a_share_is_drawn_from_the_seed_and_rounded_up():
    before = fleet()
    event = Event(round=2, share=0.4, slow_down=2.0)

    def slowed(seed):
        now = changed_fleet(before, [event], 2, Seeds(seed))
        return tuple(np.flatnonzero(now.throughput < before.throughput))

    drawn = [slowed(seed) for seed in range(10)]
    assert {len(those) for those in drawn} == {3}
    assert len(set(drawn)) > 3
    assert drawn == [slowed(seed) for seed in range(10)]


@pytest.mark.parametrize(("share", "count", "many"), [(0.3, 10, 3), (0.01, 5, 1), (1.0, 7, 7)])
def test_a_share_of_some_is_a_whole_number(share, count, many):
    assert share_of(share, count) == many


@pytest.mark.parametrize("links", ["between", "access"])
def test_rates_change_on_all_links_of_those_hit_and_on_no_other(links):
    before = fleet(links)
    now = after(before, Event(round=2, clients=("client-2",), rates=(1.0, 2.0)))
    everybody = np.arange(len(now))
    old, new = (f.links.block(everybody, everybody) for f in (before, now))
    others = everybody != 1
    assert_array_equal(new, new.T)
    assert ((new[1, others] >= 1) & (new[1, others] <= 2)).all()
    assert 1 <= now.to_server[1] <= 2
    assert_array_equal(new[np.ix_(others, others)], old[np.ix_(others, others)])
    assert_array_equal(now.to_server[others], before.to_server[others])


def test_a_link_that_is_not_there_does_not_appear():
    before = fleet()
    rates = before.links.rates.copy()
    rates[0, 1] = rates[1, 0] = 0
    cut = Fleet(
        before.names,
        before.throughput,
        before.examples,
        before.server_throughput,
        before.to_server,
        Between(rates),
    )
    now = after(cut, Event(round=2, share=1.0, rates=(1.0, 2.0)))
    assert now.links.rates[0, 1] == now.links.rates[1, 0] == 0
    assert now.links.rates[0, 2] == now.links.rates[2, 0] > 0


def test_those_who_leave_are_gone_for_later_events_too():
    before = fleet()
    events = [
        Event(round=2, clients=("client-2",), leave=True),
        Event(round=4, clients=("client-2", "client-3"), slow_down=2.0),
    ]
    now = changed_fleet(changed_fleet(before, events, 2, SEEDS), events, 4, SEEDS)
    assert now.names == ("client-1", "client-3", "client-4", "client-5", "client-6")
    assert now.throughput[1] == before.throughput[2] / 2


@pytest.mark.parametrize("links", ["between", "access"])
def test_the_numbering_of_clients_changes_nothing(links):
    before = fleet(links)
    events = (
        Event(round=2, share=0.5, rates=(1.0, 2.0), slow_down=3.0),
        Event(round=2, share=0.2, leave=True),
    )
    turned = before.subset(np.array([3, 0, 5, 1, 4, 2]))
    for one, other in zip(
        by_name(after(before, *events)), by_name(after(turned, *events)), strict=True
    ):
        np.testing.assert_equal(one, other)


def test_unknown_clients_and_empty_fleets_are_refused_beforehand():
    with pytest.raises(InputError, match=r"names the client 'client-9', which is not"):
        check_events([Event(round=1, clients=("client-9",), leave=True)], fleet(), SEEDS)
    halves = [Event(round=r, share=0.5, leave=True) for r in (1, 2)]
    check_events(halves, fleet(), SEEDS)
    with pytest.raises(InputError, match=r"nobody is left after the event before round 7"):
        check_events([*halves, Event(round=7, share=1.0, leave=True)], fleet(), SEEDS)
