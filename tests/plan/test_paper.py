from dataclasses import replace

import pytest
from hypothesis import given

from tests.plan.instances import (
    assert_honours,
    one_strong_three_weak,
    problem_of,
    problems,
    random_problem,
    relaxed,
)
from tiercut.cost import Placement, Workload
from tiercut.errors import InfeasibleError
from tiercut.fleet import sample_fleet
from tiercut.models.profile import shipped_profile
from tiercut.plan import brute, paper
from tiercut.plan.problem import Problem, Wishes
from tiercut.scenario import FleetSection
from tiercut.seeds import Seeds


@relaxed
@given(problems(with_wishes=True))
def test_honours_wishes_and_never_beats_brute_force(problem):
    try:
        found = paper.solve(problem).placement
    except InfeasibleError:
        assert problem.wishes.aggregators is not None
        return
    assert_honours(problem, found)
    assert problem.seconds(found) >= brute.solve(problem).lower_bound


@relaxed
@given(problems())
def test_out_of_time_it_still_has_a_plan(problem):
    assert_honours(problem, paper.solve(problem, time_limit=0.0).placement)


def test_imbalance_is_the_slowest_aggregator_less_the_slowest_client():
    """Layers of 400 FLOP a batch: a hosts two models of one layer, b computes two layers."""
    problem = problem_of(one_strong_three_weak())
    placement = Placement.three_tiers(2, 3, [0, 0, 2, 2])
    assert paper.imbalance(problem, placement) == pytest.approx(2 * 400 / 10 - 800 / 10)


@pytest.mark.parametrize(
    ("clients", "counts"), [(2, [1]), (3, [1]), (7, [1, 2, 3]), (100, list(range(1, 51)))]
)
def test_tries_up_to_half_of_the_clients(clients, counts):
    assert list(paper.paper_counts(random_problem(0, clients))) == counts


def test_large_fleets_are_tried_in_steps_of_one_percent():
    counts = paper.paper_counts(random_problem(0, 400, links="access"))
    assert list(counts)[:3] == [1, 5, 9]
    assert max(counts) <= 200


@pytest.fixture
def visited(monkeypatch):
    """Every (h, v) for which plans are made, with the imbalance of the best of them."""
    seen = {}
    make_plans = paper.greedy_candidates

    def spy(problem, h, v, counts):
        plans = list(make_plans(problem, h, v, counts))
        best = min(plans, key=lambda plan: plan.seconds)
        assert (h, v) not in seen
        seen[h, v] = paper.imbalance(problem, best.placement)
        return iter(plans)

    monkeypatch.setattr(paper, "greedy_candidates", spy)
    return seen


@pytest.mark.parametrize(("model", "v"), [("vgg19", 15), ("resnet101", 24), ("resnet101", 33)])
def test_bisects_to_where_the_balance_tips(visited, model, v):
    fleet = sample_fleet(FleetSection(clients=20), Seeds(1))
    paper.solve(Problem(fleet, Workload(shipped_profile(model)), (v,)))
    heavy = {h for (h, _), imbalance in visited.items() if imbalance > 0}
    light = {h for (h, _) in visited} - {*heavy}
    assert len(visited) <= 2 + (v - 2).bit_length()
    assert max(heavy, default=1) + 1 == min(light, default=v)


def test_every_cut_is_searched(visited):
    problem = random_problem(3, 6)
    paper.solve(problem)
    assert {v for _, v in visited} == set(problem.cuts)


def test_a_fixed_aggregator_layer_is_the_only_one_tried(visited):
    problem = replace(random_problem(3, 6), wishes=Wishes(aggregator_layer=3))
    assert max(problem.cuts) > 4
    paper.solve(problem)
    assert set(visited) == {(3, v) for v in problem.cuts if v > 3}
