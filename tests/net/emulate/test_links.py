"""The rates of a fleet, as queues of the kernel."""

import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.net.emulate.instances import TRIO, access, between
from tiercut.net.emulate.links import (
    burst_of,
    independent_queues,
    packet_limit,
    radio_queues,
    rates_from,
)

rates = st.floats(0.1, 1e10)
addresses = st.dictionaries(st.integers(2, 250).map("10.77.0.{}".format), rates, min_size=1)


@st.composite
def fleets(draw):
    count = draw(st.integers(1, 6))
    columns = st.lists(rates, min_size=count, max_size=count)
    if draw(st.booleans()):
        return access(draw(columns), draw(columns))
    links = st.lists(rates | st.just(0), min_size=count, max_size=count)
    matrix = np.triu(np.array([draw(links) for _ in range(count)]), 1)
    return between(matrix + matrix.T, draw(columns))


@given(fleets())
def test_links_are_the_fleets_in_both_directions(fleet):
    found = [rates_from(fleet, index) for index in range(len(fleet) + 1)]
    for one, linked in enumerate(found):
        assert one not in linked
        for other, rate in linked.items():
            assert rate > 0
            assert found[other][one] == rate
    assert found[-1] == dict(enumerate(fleet.to_server))


def test_no_link_has_no_rate():
    assert rates_from(TRIO, 1) == {0: 1e6, 3: 1e6}


def classes(lines):
    """(promised, most, burst) of every class."""
    text = r"class .* rate (\d+)bps burst (\d+) ceil (\d+)bps cburst (\d+)"
    found = [re.fullmatch(text, line) for line in lines]
    return [(int(m[1]), int(m[3]), int(m[2])) for m in found if m]


@given(addresses)
def test_every_address_has_a_class_of_its_rate(linked):
    lines = independent_queues(linked)
    assert [most for _, most, _ in classes(lines)] == [max(1, round(r)) for r in linked.values()]
    assert all(promised == most for promised, most, _ in classes(lines))
    for address in linked:
        assert sum(f" dst {address}/32 " in line for line in lines) == 1


@given(addresses)
def test_a_radio_promises_no_more_than_it_has(linked):
    lines = radio_queues(linked)
    (whole, _, _), *parts = classes(lines)
    assert whole == max(most for _, most, _ in parts)
    assert sum(promised for promised, _, _ in parts) <= whole + len(parts)
    for address in linked:
        assert sum(f" {address}/32 " in line for line in lines) == 2


@given(rates)
def test_bursts_are_a_millisecond_or_a_few_packets(rate):
    assert burst_of(rate) == max(4096, round(rate / 1000))
    assert 4096 <= packet_limit({"10.77.0.2": rate}) <= 65536
