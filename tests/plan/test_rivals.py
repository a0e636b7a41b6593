import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given

from tests.cost.instances import make_fleet
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
from tiercut.plan import brute, greedy_scan, rivals
from tiercut.plan.problem import Wishes

# ------------------------------------------------------------------------------------- one cut


@pytest.mark.parametrize("scheme", ["sfl", "locsfl"])
def test_single_cut_is_the_best_of_all_cuts(scheme):
    @relaxed
    @given(problems(scheme=scheme, min_clients=1))
    def check(problem):
        placement = rivals.single_cut(problem).placement
        every = [Placement.two_tiers([v] * len(problem.fleet)) for v in problem.cuts]
        assert placement.cut_layers[0] in problem.cuts
        assert problem.seconds(placement) == min(problem.seconds(one) for one in every)

    check()


# ----------------------------------------------------------------------------------- three tiers


@relaxed
@given(problems(scheme="multihop", with_wishes=True))
def test_multihop_honours_wishes_and_never_beats_brute_force(problem):
    try:
        found = rivals.multihop(problem).placement
    except InfeasibleError:
        assert problem.wishes.aggregators is not None
        return
    assert_honours(problem, found)
    assert problem.seconds(found) >= brute.solve(problem).lower_bound


def test_multihop_tries_no_more_helpers_than_the_paper():
    for seed in range(5):
        placement = rivals.multihop(random_problem(seed, 7, scheme="multihop")).placement
        assert len(placement.aggregators) <= 3


def hsfl_problem(**wishes):
    given = {"cuts": (4,), "aggregator_layer": 3, "aggregators": 2} | wishes
    return problem_of(one_strong_three_weak(), scheme="hsfl-ll", **given)


def test_hsfl_takes_what_it_is_given():
    problem = hsfl_problem()
    placement = rivals.hsfl(problem).placement
    assert_honours(problem, placement)
    assert (placement.aggregator_layers[0], placement.cut_layers[0]) == (3, 4)
    assert placement.aggregators.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("missing", "option"),
    [
        ({"aggregator_layer": None}, "--aggregator-layer"),
        ({"cuts": (3, 4), "aggregator_layer": 2}, "--cuts"),
        ({"aggregators": None}, "--lambda"),
    ],
)
def test_hsfl_says_which_option_is_missing(missing, option):
    with pytest.raises(InputError) as error:
        rivals.hsfl(hsfl_problem(**missing))
    options = {"--aggregator-layer", "--cuts", "--lambda"}
    assert {word for word in options if word in str(error.value)} == {option}


def test_hsfl_says_why_there_is_no_plan():
    wishes = {"aggregator_layer": 2, "aggregators": 1}
    with pytest.raises(InfeasibleError, match="fixed to 1"):
        rivals.hsfl(problem_of(all_apart(), cuts=(3,), scheme="hsfl-ll", **wishes))


def test_hsfl_is_one_of_the_plans_of_a_greedy_scan():
    problem = replace(
        random_problem(2, 6), cuts=(3,), wishes=Wishes(aggregator_layer=2, aggregators=2)
    )
    assert problem.seconds(rivals.hsfl(problem).placement) == problem.seconds(
        greedy_scan.solve(problem).placement
    )


# ------------------------------------------------------------------------------------------ DTFL


def estimate(problem, n, v, server_models) -> float:
    """T_hat of client n at cut v, while the server works on models cut at `server_models`."""
    fleet, work = problem.fleet, problem.work
    batches = work.epochs * problem.batches
    seen = min(work.batch, max(2, math.ceil(work.server_share * work.batch))) / work.batch
    own = 3 * batches * work.forward(1, v) / fleet.throughput[n]
    server = sum(3 * batches * work.forward(cut + 1, problem.depth) for cut in server_models) * seen
    moved = 2 * work.weights(1, v) + batches * work.activations(v) * seen
    return max(own, server / fleet.server_throughput) + moved / fleet.to_server[n]


def assert_deepest_within(problem, chosen, t_max, server_models_at):
    """Every client's tier meets T_max, and no deeper one does (up to rounding)."""
    for n, v in enumerate(chosen):
        assert estimate(problem, n, v, server_models_at(v)) <= t_max * (1 + 1e-9)
        for deeper in (cut for cut in problem.cuts if cut > v):
            assert estimate(problem, n, deeper, server_models_at(deeper)) > t_max * (1 - 1e-9)


@relaxed
@given(problems(scheme="dtfl", min_clients=1, max_clients=6))
def test_dtfl_takes_the_deepest_tier_within_t_max(problem):
    chosen = rivals.dtfl(problem).placement.cut_layers.tolist()
    t_max = max(
        min(estimate(problem, n, v, [v]) for v in problem.cuts) for n in range(len(problem.fleet))
    )
    assert_deepest_within(problem, chosen, t_max, lambda v: [v])


@relaxed
@given(problems(scheme="dtfl", min_clients=1, max_clients=4, max_layers=5))
def test_contended_dtfl_has_the_smallest_t_max_of_all_schedules(problem):
    def t_max(schedule):
        return max(estimate(problem, n, v, schedule) for n, v in enumerate(schedule))

    chosen = rivals.dtfl_contended(problem).placement.cut_layers.tolist()
    best = min(t_max(schedule) for schedule in product(problem.cuts, repeat=len(problem.fleet)))
    assert t_max(chosen) == pytest.approx(best)
    assert_deepest_within(problem, chosen, t_max(chosen), lambda v: chosen)


def test_both_agree_where_the_server_is_no_bottleneck():
    for seed in range(5):
        problem = random_problem(seed, 8, scheme="dtfl")
        problem = replace(problem, fleet=replace(problem.fleet, server_throughput=1e18))
        one, two = (
            solver(problem).placement.cut_layers.tolist()
            for solver in (rivals.dtfl, rivals.dtfl_contended)
        )
        assert one == two


def test_counting_the_sharing_spares_a_busy_server():
    """Alone on the server everybody would offload; together they would wait for it."""
    fleet = make_fleet([100] * 6, [8] * 6, 500, [1e6] * 6, access=[1e6] * 6)
    problem = problem_of(fleet, cuts=(1, 2, 3, 4), scheme="dtfl")
    published, contended = (
        solver(problem).placement for solver in (rivals.dtfl, rivals.dtfl_contended)
    )
    assert set(published.cut_layers) == {1}
    assert set(contended.cut_layers) == {3}
    assert problem.seconds(contended) < problem.seconds(published)


def test_relabelling_clients_changes_no_tier():
    problem = random_problem(4, 9, scheme="dtfl")
    order = np.random.default_rng(0).permutation(9)
    other = replace(problem, fleet=problem.fleet.subset(order))
    for solver in (rivals.dtfl, rivals.dtfl_contended):
        tiers, relabelled = (solver(p).placement.cut_layers for p in (problem, other))
        assert tiers[order].tolist() == relabelled.tolist()
