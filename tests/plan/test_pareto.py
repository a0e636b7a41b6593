from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings

from tests.plan.instances import (
    all_apart,
    assert_honours,
    one_strong_three_weak,
    problem_of,
    problems,
    random_problem,
    relaxed,
    two_islands,
)
from tiercut.cost import round_bytes
from tiercut.errors import InfeasibleError
from tiercut.plan import brute
from tiercut.plan.pareto import frontier
from tiercut.plan.solve import solve

few = settings(relaxed, max_examples=25)
SLOWER = 1.021
"""Points are searched to a gap of 2 %."""


def dominates(one, other):
    return one != other and all(a <= b for a, b in zip(one, other, strict=True))


def best_of_each_kind(problem):
    """Delay, bytes and aggregators of the fastest plan there is for every h, v and number."""
    fixed = problem.wishes.aggregators
    counts = range(1, len(problem.fleet) + 1) if fixed is None else [fixed]
    for (h, v), count in product(problem.layer_pairs(), counts):
        wishes = replace(problem.wishes, aggregator_layer=h, aggregators=count)
        own = replace(problem, cuts=(v,), wishes=wishes)
        try:
            placement = brute.solve(own).placement
        except InfeasibleError:
            continue
        amount = round_bytes(own.fleet, own.work, placement, own.scheme).total
        yield own.seconds(placement), amount, count


def assert_is_the_frontier(problem):
    points = frontier(problem)
    measures = [point.measures for point in points]
    assert measures
    assert measures == sorted(measures)
    assert not any(dominates(one, other) for one in measures for other in measures)
    for point in points:
        assert_honours(problem, point.plan.placement)
        assert point.plan.seconds.round == problem.seconds(point.plan.placement)
    for seconds, amount, count in best_of_each_kind(problem):
        assert any(
            s <= seconds * SLOWER and b <= amount * (1 + 1e-12) and k <= count
            for s, b, k in measures
        ), (seconds, amount, count)


@few
@given(problems(max_clients=4, with_wishes=True, max_layers=5))
def test_every_plan_there_is_has_a_point_that_is_as_good(problem):
    try:
        assert_is_the_frontier(problem)
    except InfeasibleError:
        assert not list(best_of_each_kind(problem))


@pytest.mark.parametrize("links", ["between", "access"])
@pytest.mark.parametrize("model", ["paper", "network"])
@pytest.mark.parametrize("seed", [1, 2])
def test_five_clients_have_a_frontier_too(seed, model, links):
    assert_is_the_frontier(random_problem(seed, 5, model=model, links=links))


def test_two_islands_cannot_do_with_one_aggregator():
    counts = {point.measures[2] for point in frontier(problem_of(two_islands()))}
    assert min(counts) == 2


def test_without_links_all_points_have_everybody_aggregate():
    assert {point.measures[2] for point in frontier(problem_of(all_apart()))} == {3}


def test_a_fixed_number_is_the_only_number():
    problem = problem_of(one_strong_three_weak(), aggregators=2)
    assert {point.measures[2] for point in frontier(problem)} == {2}


def test_the_fastest_plan_is_on_it():
    problem = random_problem(7, 5)
    fastest = min(point.measures[0] for point in frontier(problem))
    assert fastest <= solve(problem).seconds.round


def test_equal_points_are_not_listed_twice():
    measures = [point.measures for point in frontier(problem_of(one_strong_three_weak()))]
    assert len(measures) == len(set(measures))


def test_progress_is_told_in_order():
    told = []
    frontier(random_problem(3, 3), lambda done, total: told.append((done, total)))
    steps, totals = zip(*told, strict=True)
    assert list(steps) == list(range(len(steps)))
    assert set(totals) == {len(steps)}


def test_a_point_is_written_with_all_it_takes_to_carry_it_out():
    for point in frontier(random_problem(5, 4)):
        written = point.to_dict()
        served_by = np.array(written["aggregator_of"])
        assert len(np.unique(served_by)) == written["aggregators"]
        assert 2 <= written["aggregator_layer"] < written["cut_layer"]
        assert (written["round_seconds"], written["bytes"]) == point.measures[:2]
