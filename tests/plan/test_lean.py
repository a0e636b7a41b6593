"""The fewest bytes of a round, against trying every plan."""

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given, settings

from tests.plan.instances import all_apart, problem_of, problems, relaxed
from tiercut.cost import Placement, round_bytes
from tiercut.errors import InfeasibleError
from tiercut.plan import brute, lean
from tiercut.plan.problem import Wishes


def size(problem, placement):
    return round_bytes(problem.fleet, problem.work, placement, problem.scheme).total


@relaxed
@given(problems(scheme="locsfl", min_clients=1))
def test_a_single_cut_sends_the_least_and_is_the_fastest_of_equals(problem):
    found = lean.single_cut(problem).placement
    every = [Placement.two_tiers([v] * len(problem.fleet)) for v in problem.cuts]
    best = min((size(problem, one), problem.seconds(one)) for one in every)
    assert (size(problem, found), problem.seconds(found)) == best


def test_where_nothing_is_possible_the_remedy_is_about_conditions():
    with pytest.raises(InfeasibleError, match=r"fixed and forbidden.*--allow"):
        lean.three_tiers(problem_of(all_apart(), aggregators=1))


@settings(relaxed, max_examples=40)
@given(problems(max_clients=4, max_layers=5))
def test_three_tiers_send_the_least_of_all_layers_and_numbers_of_aggregators(problem):
    every = []
    for h, v in problem.layer_pairs():
        for number in range(1, len(problem.fleet) + 1):
            wishes = Wishes(aggregator_layer=h, aggregators=number)
            with suppress(InfeasibleError):
                fixed = replace(problem, cuts=(v,), wishes=wishes)
                every.append(size(problem, brute.solve(fixed).placement))
    assert size(problem, lean.three_tiers(problem).placement) == pytest.approx(min(every))
