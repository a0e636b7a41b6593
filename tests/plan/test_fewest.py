import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cost.instances import make_fleet, make_profile
from tests.plan.instances import (
    all_apart,
    assert_honours,
    one_strong_three_weak,
    problem_of,
    problems,
    random_problem,
    relaxed,
)
from tiercut.cost import Workload
from tiercut.errors import InfeasibleError
from tiercut.plan import brute
from tiercut.plan.fewest import with_fewest_aggregators
from tiercut.plan.problem import Problem
from tiercut.plan.solve import solve

few = settings(relaxed, max_examples=40)
slacks = st.sampled_from([0.0, 0.001, 0.01, 0.1, 0.5, 2.0])


def fewer(problem, slack):
    """The exact plan, and the one with fewer aggregators that may be a little slower."""
    plan = solve(problem)
    return plan, with_fewest_aggregators(problem, plan, slack)


def seconds_with(problem, aggregators):
    """The fastest plan with so many aggregators, among all there are."""
    own = replace(problem, wishes=replace(problem.wishes, aggregators=aggregators))
    try:
        return own.seconds(brute.solve(own).placement)
    except InfeasibleError:
        return math.inf


def true_fewest(problem, limit):
    counts = range(1, len(problem.fleet) + 1)
    return next(count for count in counts if seconds_with(problem, count) <= limit)


@few
@given(problems(max_clients=4, with_wishes=True), slacks)
def test_it_is_never_slower_than_allowed_and_never_has_more_aggregators(problem, slack):
    problem = replace(problem, wishes=replace(problem.wishes, aggregators=None))
    plan, cheap = fewer(problem, slack)
    assert cheap.seconds.round <= plan.seconds.round * (1 + slack)
    assert len(cheap.placement.aggregators) <= len(plan.placement.aggregators)
    assert cheap.lower_bound == plan.lower_bound
    assert cheap.seconds.round == problem.seconds(cheap.placement)
    assert_honours(problem, cheap.placement)


@few
@given(problems(max_clients=4, max_layers=5), slacks)
def test_on_small_fleets_it_is_the_fewest_there_is(problem, slack):
    plan, cheap = fewer(problem, slack)
    limit = plan.seconds.round * (1 + slack)
    assert len(cheap.placement.aggregators) == true_fewest(problem, limit)


@pytest.mark.parametrize("model", ["paper", "network"])
@pytest.mark.parametrize("slack", [0.01, 0.2, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_nobody_finds_fewer(seed, slack, model):
    problem = random_problem(seed, 4, model=model)
    plan, cheap = fewer(problem, slack)
    limit = plan.seconds.round * (1 + slack)
    assert len(cheap.placement.aggregators) == true_fewest(problem, limit)


def test_with_all_the_time_in_the_world_one_is_enough():
    _, cheap = fewer(problem_of(one_strong_three_weak()), 1e6)
    assert len(cheap.placement.aggregators) == 1


def test_who_has_no_link_keeps_serving_itself():
    _, cheap = fewer(problem_of(all_apart()), 1e6)
    assert cheap.placement.aggregator_of.tolist() == [0, 1, 2]


def test_only_allowed_clients_take_others_in():
    problem = problem_of(one_strong_three_weak(), allowed=frozenset({3}))
    _, cheap = fewer(problem, 1e6)
    assert cheap.placement.aggregator_of.tolist() == [3, 3, 3, 3]


def test_a_fixed_number_stays_fixed():
    _, cheap = fewer(problem_of(one_strong_three_weak(), aggregators=3), 1e6)
    assert len(cheap.placement.aggregators) == 3


def test_one_is_found_where_two_and_three_would_be_too_slow():
    """Cut at 4, the strong client must do layer 4 for all; cut at 3, only layer 2's output hurts.

    The fastest rounds with 1 to 4 aggregators take 164, 624, 624 and 144 seconds.
    """
    profile = make_profile([10, 10, 10, 100, 1], [1] * 5, [10, 5000, 1, 1, 1])
    between = np.full((4, 4), 50.0)
    fleet = make_fleet([1000, 10, 10, 10], [8] * 4, 1e6, [50] * 4, between=between)
    problem = Problem(fleet, Workload(profile, batch=4, epochs=2), (3, 4))
    plan, cheap = fewer(problem, 1.0)
    assert true_fewest(problem, 2 * plan.seconds.round) == 1
    assert len(cheap.placement.aggregators) == 1


def test_larger_fleets_halve_in_on_the_number():
    problem = random_problem(1, 20)
    plan, cheap = fewer(problem, 0.5)
    assert len(cheap.placement.aggregators) < len(plan.placement.aggregators)
    assert cheap.seconds.round <= plan.seconds.round * 1.5
