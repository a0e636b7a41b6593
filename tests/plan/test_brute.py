import math

import numpy as np
import pytest
from hypothesis import given

from tests.plan.instances import (
    all_apart,
    assert_honours,
    one_strong_three_weak,
    problem_of,
    problems,
    random_problem,
    relaxed,
)
from tiercut.cost import Placement
from tiercut.errors import InfeasibleError, InputError
from tiercut.plan import brute


def naive_optimum(problem) -> float:
    """The least seconds of three clients, by loops that know no shortcuts; inf if there is none."""
    wishes, rates = problem.wishes, problem.fleet.links
    best = math.inf
    for v in problem.cuts:
        for h in range(problem.client_layers or 2, v):
            if wishes.aggregator_layer not in (None, h):
                continue
            for a in range(3):
                for b in range(3):
                    for c in range(3):
                        served_by = [a, b, c]
                        if any(served_by[k] != k for k in served_by):
                            continue
                        if wishes.aggregators not in (None, len({a, b, c})):
                            continue
                        moved = [(n, k) for n, k in enumerate(served_by) if n != k]
                        if any(
                            (n, k) in wishes.forbidden
                            or (k, n) in wishes.forbidden
                            or (wishes.allowed is not None and k not in wishes.allowed)
                            or rates.block(np.array([n]), np.array([k]))[0, 0] == 0
                            for n, k in moved
                        ):
                            continue
                        best = min(best, problem.seconds(Placement.three_tiers(h, v, served_by)))
    return best


@relaxed
@given(problems(min_clients=3, max_clients=3, with_wishes=True))
def test_finds_what_naive_loops_find(problem):
    expected = naive_optimum(problem)
    if math.isinf(expected):
        with pytest.raises(InfeasibleError, match="fixed to"):
            brute.solve(problem)
        return
    solution = brute.solve(problem)
    assert problem.seconds(solution.placement) == solution.lower_bound == expected
    assert_honours(problem, solution.placement)


@pytest.mark.parametrize(("clients", "ways"), [(2, 3), (3, 10), (4, 41), (5, 196), (6, 1057)])
def test_counts_every_way_to_form_groups_with_a_head(clients, ways):
    """The idempotent maps of a set to itself, OEIS A000248."""
    found = list(brute._every_assignment(random_problem(0, clients)))
    assert len(found) == len(set(found)) == ways


def test_a_strong_client_serves_the_weak_ones():
    problem = problem_of(one_strong_three_weak(), cuts=(4,), aggregator_layer=2)
    placement = brute.solve(problem).placement
    assert placement.aggregator_of.tolist() == [0, 0, 0, 0]


def test_without_links_everybody_serves_itself():
    placement = brute.solve(problem_of(all_apart())).placement
    assert placement.aggregator_of.tolist() == [0, 1, 2]


def test_out_of_time_it_has_a_plan_and_no_proof():
    problem = random_problem(0)
    solution = brute.solve(problem, time_limit=0.0)
    assert_honours(problem, solution.placement)
    assert solution.lower_bound is None


def test_refuses_fleets_it_cannot_count():
    with pytest.raises(InputError, match=r"9 clients.*--solver exact"):
        brute.solve(random_problem(0, clients=9))


def test_says_why_there_is_no_plan():
    with pytest.raises(InfeasibleError, match=r"fixed to 1.*--lambda"):
        brute.solve(problem_of(all_apart(), aggregators=1))
