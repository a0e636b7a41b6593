"""The exact planner against the judge, and what its certificate promises."""

import numpy as np
import pytest
from hypothesis import given, settings

from tests.cost.instances import make_fleet, make_profile
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
from tiercut.cost import Placement, Workload
from tiercut.errors import InfeasibleError, InputError
from tiercut.fleet import Between, Fleet
from tiercut.models.profile import LayerCost, Profile
from tiercut.plan import assign, brute, exact, greedy_scan, paper, relax, sites
from tiercut.plan.problem import Problem

ACCURACY = 1e-6
"""What HiGHS keeps its constraints and whole numbers to."""
TIGHT = 10 * ACCURACY
"""How near bounds come: a round is a sum of thresholds, each off by that much or a little more."""


def assert_optimal(problem):
    best = brute.solve(problem).lower_bound
    solution = exact.solve(problem)
    assert_honours(problem, solution.placement)
    assert problem.seconds(solution.placement) == pytest.approx(best, rel=ACCURACY)
    assert solution.lower_bound <= best * (1 + 1e-9)
    assert solution.lower_bound >= best * (1 - TIGHT)


@pytest.mark.parametrize("model", ["paper", "network"])
@pytest.mark.parametrize("links", ["between", "access"])
@pytest.mark.parametrize("seed", range(40))
def test_equals_brute_where_all_clients_differ(seed, links, model):
    assert_optimal(random_problem(seed, 2 + seed % 5, model=model, links=links))


@pytest.mark.no_cover
@settings(relaxed, max_examples=200)
@given(problems(max_clients=5))
def test_equals_brute_on_any_small_problem(problem):
    assert_optimal(problem)


def test_a_bound_that_several_inaccuracies_loosen():
    fleet = make_fleet([1, 1], [1, 1], 1, [1, 1], access=[1, 1])
    work = Workload(make_profile([0, 0, 5, 0, 0], [0] * 5, [1] * 5), batch=1, epochs=1)
    assert_optimal(Problem(fleet, work, (3,)))


def test_a_program_that_presolve_spoils_is_solved_without_it():
    rates = np.zeros((5, 5))
    rates[1, 3] = rates[3, 1] = 1
    fleet = Fleet(
        names=tuple("abcde"),
        throughput=np.array([2.0, 1, 2, 1, 2]),
        examples=np.array([1, 1, 1, 1, 2]),
        server_throughput=1.0,
        to_server=np.array([1.0, 2, 1, 2, 1]),
        links=Between(rates),
    )
    costs = [(0.0, 0.0), (67.0, 0.0), (0.0, 299.0), (0.0, 0.0)]
    layers = tuple(
        LayerCost(
            index=n,
            name=f"layer{n}",
            flops=flops,
            weight_bytes=weights,
            activation_bytes=1.0,
            parameters=0,
        )
        for n, (flops, weights) in enumerate(costs, start=1)
    )
    work = Workload(Profile(name="x", parameters=0, layers=layers), 1, 1)
    assert_optimal(Problem(fleet, work, (3,), "paper"))


@pytest.mark.no_cover
@settings(relaxed, max_examples=200)
@given(problems(max_clients=5, with_wishes=True))
def test_equals_brute_under_any_wishes(problem):
    try:
        brute.solve(problem)
    except InfeasibleError:
        with pytest.raises(InfeasibleError):
            exact.solve(problem)
    else:
        assert_optimal(problem)


@settings(relaxed, max_examples=200)
@given(problem=problems(max_clients=5, with_wishes=True))
def test_the_bound_holds_without_integer_programs(problem):
    """Splitting, counting, slots and prices alone, as on fleets too large for integer programs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "SMALL_FLEET", 0)
        patch.setattr(exact, "MOST_VARIABLES", 0)
        try:
            solution = exact.solve(problem)
        except InfeasibleError:
            return  # a fixed number of aggregators may be missed by the heuristics alone
    best = brute.solve(problem).lower_bound
    assert_honours(problem, solution.placement)
    assert solution.lower_bound <= best * (1 + 1e-9)
    assert problem.seconds(solution.placement) >= best * (1 - 1e-9)


@pytest.mark.parametrize("model", ["paper", "network"])
@pytest.mark.parametrize("links", ["between", "access"])
@pytest.mark.parametrize("seed", range(4))
def test_no_plan_of_a_larger_fleet_beats_the_bound(seed, links, model):
    problem = random_problem(seed, 25, model=model, links=links)
    solution = exact.solve(problem)
    assert_honours(problem, solution.placement)
    own = problem.seconds(solution.placement)
    assert solution.lower_bound <= own
    for rival in (greedy_scan, paper):
        other = problem.seconds(rival.solve(problem).placement)
        assert solution.lower_bound <= other * (1 + 1e-9)
        assert own <= other * 1.005


def test_weak_clients_join_the_strong_one_when_links_are_fast():
    problem = problem_of(one_strong_three_weak())
    assert exact.solve(problem).placement.aggregators.tolist() == [0]


def test_clients_without_links_serve_themselves():
    assert exact.solve(problem_of(all_apart())).placement.aggregator_of.tolist() == [0, 1, 2]


def test_groups_stay_on_their_island():
    served_by = exact.solve(problem_of(two_islands())).placement.aggregator_of
    assert set(served_by[:2].tolist()) <= {0, 1}
    assert set(served_by[2:].tolist()) <= {2, 3}


def test_the_same_problem_gives_the_same_plan():
    first, second = (exact.solve(random_problem(3, 30)) for _ in range(2))
    assert first.lower_bound == second.lower_bound
    assert (first.placement.aggregator_of == second.placement.aggregator_of).all()


def test_identical_clients_are_planned_as_classes():
    """Sixty clients of three kinds: the same bound and seconds as client by client."""
    one = random_problem(1, 3, links="access")
    kinds = np.repeat(np.arange(3), 20)
    fleet = one.fleet.subset(kinds)
    problem = type(one)(fleet, one.work, one.cuts)
    solution = exact.solve(problem)
    seconds = problem.seconds(solution.placement)
    assert len(exact.find_sites(problem)) == 3
    assert solution.lower_bound <= seconds
    apart = type(one)(
        fleet, one.work, one.cuts, wishes=type(one.wishes)(forbidden=frozenset({(0, 1)}))
    )
    assert len(exact.find_sites(apart)) == 60
    assert solution.lower_bound <= apart.seconds(exact.solve(apart).placement) * (1 + 1e-9)


def test_a_time_limit_still_gives_a_plan_and_a_bound():
    problem = random_problem(5, 40)
    solution = exact.solve(problem, time_limit=0.0)
    assert 0 < solution.lower_bound <= problem.seconds(solution.placement)


def test_more_time_never_gives_a_worse_gap():
    problem = random_problem(6, 40)
    hasty, patient = (exact.solve(problem, time_limit=t) for t in (0.0, 2.0))
    gaps = [1 - s.lower_bound / problem.seconds(s.placement) for s in (hasty, patient)]
    assert gaps[1] <= gaps[0] + 1e-12


def test_an_assignment_deals_members_out_evenly():
    problem = random_problem(1, 3, links="access")
    sites = exact.find_sites(
        type(problem)(problem.fleet.subset(np.repeat([0, 1], [2, 4])), problem.work, problem.cuts)
    )
    host = int(np.flatnonzero(sites.count == 2)[0])
    served_by = sites.spread([(1 - host, host, 4)])
    assert Placement.three_tiers(2, 3, served_by).hosted.max() == 3


@pytest.fixture
def everything_is_large(monkeypatch):
    """Medium fleets take the ways of large ones: counting and placing in parts, a scout first."""
    monkeypatch.setattr(relax, "LARGE", 100)
    monkeypatch.setattr(assign, "LARGE", 100)
    monkeypatch.setattr(relax, "PART", 7)
    monkeypatch.setattr(assign, "PART_OF_FLEET", 12)
    monkeypatch.setattr(exact, "MANY_SITES", 30)
    monkeypatch.setattr(exact, "SAMPLE", 20)


@pytest.mark.parametrize("model", ["paper", "network"])
@pytest.mark.parametrize("seed", range(3))
def test_the_ways_of_large_fleets_keep_the_promise(seed, model, everything_is_large):
    problem = random_problem(seed, 60, model=model)
    large = exact.solve(problem)
    assert_honours(problem, large.placement)
    greedy = problem.seconds(greedy_scan.solve(problem).placement)
    assert large.lower_bound <= min(problem.seconds(large.placement), greedy)


@pytest.mark.parametrize("seed", range(3))
def test_counting_in_parts_equals_counting_at_once(seed, monkeypatch):
    limits = exact.Limits(exact.find_sites(random_problem(seed, 60)), 2, 3)
    box = exact.Box(limits.floor, (np.inf,) * len(limits.floor))
    for seconds in np.geomspace(limits.cost(limits.floor), limits.worst(), 30)[1:]:
        monkeypatch.setattr(relax, "LARGE", 1_000_000)
        at_once = relax.relax(limits, seconds, box)
        monkeypatch.setattr(relax, "LARGE", -1)
        in_parts = relax.relax(limits, seconds, box)
        assert (at_once is None) == (in_parts is None)
        if at_once is not None and not in_parts.is_a_guess:
            assert (at_once.cap == in_parts.cap).all()
            assert (at_once.limit == in_parts.limit).all()


def test_too_many_different_clients_are_refused_in_a_sentence(monkeypatch):
    monkeypatch.setattr(sites, "MOST_SITES", 10)
    with pytest.raises(InputError, match="20 clients that all differ"):
        exact.solve(random_problem(0, 20))
