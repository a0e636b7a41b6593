from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from tests.cost.instances import make_fleet, make_profile
from tests.plan.instances import (
    all_apart,
    assert_honours,
    problem_of,
    problems,
    random_problem,
    relaxed,
)
from tiercut.cost import Workload
from tiercut.errors import InfeasibleError
from tiercut.fleet import sample_fleet
from tiercut.models.profile import shipped_profile
from tiercut.plan import brute, paper, paper_literal
from tiercut.plan.problem import Problem, Wishes
from tiercut.scenario import FleetSection
from tiercut.seeds import Seeds

PAPERS_CUTS = [("alexnet", 5), ("vgg11", 8), ("vgg19", 15), ("resnet101", 24), ("resnet101", 26)]


def shipped(model, v, clients=30) -> Problem:
    fleet = sample_fleet(FleetSection(clients=clients), Seeds(0))
    return Problem(fleet, Workload(shipped_profile(model)), (v,))


def very_uneven(layers=6, **wishes) -> Problem:
    """A fleet of gamma = 2000 whose aggregators always take longer than its clients."""
    fleet = make_fleet([2000, 1, 1, 1], [4] * 4, 1000, [9] * 4, between=np.full((4, 4), 9.0))
    flops = [1] * (layers - 2) + [3800, 1]
    profile = make_profile(flops, [1] * layers, [1] * layers)
    return Problem(fleet, Workload(profile, 4, 1), (layers - 1,), wishes=Wishes(**wishes))


@pytest.mark.parametrize(("model", "v"), PAPERS_CUTS)
def test_at_the_papers_cuts_no_aggregator_is_ever_tried(model, v):
    """Slip 1: maxAggr is 0 at h = 2 in the paper's own setting."""
    problem = shipped(model, v)
    assert paper_literal.max_aggregators(problem, 2, v) == 0
    with pytest.raises(InfeasibleError, match=r"stores no plan.*maxAggr.*--solver paper"):
        paper_literal.solve(problem)


def test_the_sum_in_max_aggr_starts_at_the_weak_side():
    """Slip 3: gamma = 10 and equal layers give 9 * 2/3 at h = 2, v = 4, instead of 9 * 2/2."""
    fleet = make_fleet([10, 1] * 4, [4] * 8, 9, [9] * 8, access=[9] * 8)
    assert paper_literal.max_aggregators(problem_of(fleet), 2, 4) == 6


def test_work_that_is_free_bounds_nothing():
    profile = make_profile([5, 0, 0, 5], [1] * 4, [1] * 4)
    problem = Problem(random_problem(0, 6).fleet, Workload(profile), (3,))
    assert paper_literal.max_aggregators(problem, 2, 3) == 6


@pytest.fixture
def visited(monkeypatch):
    """Every h for which plans are made, in order."""
    seen = []
    make_plans = paper_literal.greedy_candidates

    def spy(problem, h, v, counts):
        seen.append(h)
        return make_plans(problem, h, v, counts)

    monkeypatch.setattr(paper_literal, "greedy_candidates", spy)
    return seen


def test_the_aggregator_layer_only_rises_and_the_search_ends(visited):
    """Slip 2: at h = v-1 the printed loop would run forever here."""
    problem = very_uneven(layers=9)
    assert_honours(problem, paper_literal.solve(problem).placement)
    assert visited == [2, 5, 6, 7]


def test_balanced_work_ends_the_search_at_once(visited):
    """Slips 2 and 4: a difference within half a second per batch ends the loop, wherever h is."""
    problem = problem_of(random_problem(1, 4).fleet, cuts=(4,))
    assert paper_literal.max_aggregators(problem, 2, 4) > 0
    paper_literal.solve(problem)
    assert visited == [2]


def test_a_fixed_aggregator_layer_is_the_only_one_tried(visited):
    problem = very_uneven(layers=9, aggregator_layer=6)
    assert_honours(problem, paper_literal.solve(problem).placement)
    assert visited == [6]


def slow_way_out() -> Problem:
    """a and b are equally strong, a link to a is a little faster, but a's way out is slow."""
    between = np.full((3, 3), 40.0)
    between[0, 2] = between[2, 0] = 50.0
    fleet = make_fleet([100, 100, 1], [4] * 3, 1000, [1, 50, 50], between=between)
    return problem_of(fleet, cuts=(3,), aggregators=2)


def test_the_printed_equation_forgets_the_upload():
    """Slip 3: x_{n,k,v+1} is 0, so client c cannot see how slow the way out of a is."""
    problem = slow_way_out()
    assert paper_literal.solve(problem).placement.aggregator_of.tolist() == [0, 1, 0]
    assert paper.solve(problem).placement.aggregator_of.tolist() == [0, 1, 1]


def test_decides_by_the_papers_equations_whatever_prices_the_plan():
    for seed in range(5):
        problem = replace(random_problem(seed, 6), cuts=(3,))
        one, two = (
            paper_literal.solve(replace(problem, model=model)).placement
            for model in ("paper", "network")
        )
        assert one.aggregator_of.tolist() == two.aggregator_of.tolist()


@pytest.mark.parametrize(
    ("clients", "most", "counts"),
    [(100, 4, [1, 2, 3, 4]), (30, 3, [1, 2, 3]), (1000, 25, [10, 20]), (1000, 9, [])],
)
def test_lambda_runs_in_steps_of_a_percent(monkeypatch, clients, most, counts):
    monkeypatch.setattr(paper_literal, "max_aggregators", lambda problem, h, v: most)
    assert paper_literal._counts(random_problem(0, clients, links="access"), 2, 3) == counts


def test_a_fixed_number_that_does_not_work_out_is_an_error():
    problem = problem_of(all_apart(), cuts=(3,), aggregators=1)
    assert paper_literal.max_aggregators(problem, 2, 3) > 0
    with pytest.raises(InfeasibleError, match="fixed to 1"):
        paper_literal.solve(problem)


@relaxed
@given(problems(with_wishes=True))
def test_honours_wishes_and_never_beats_brute_force(problem):
    try:
        found = paper_literal.solve(problem).placement
    except InfeasibleError:
        return
    assert_honours(problem, found)
    assert problem.seconds(found) >= brute.solve(problem).lower_bound
