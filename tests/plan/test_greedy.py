from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from tests.cost.instances import LINKS, MODELS
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
from tiercut.cost import Placement
from tiercut.cost.delay import round_terms
from tiercut.errors import InfeasibleError
from tiercut.plan.greedy import (
    aggregator_counts,
    assign,
    fastest_greedy,
    greedy_candidates,
    strongest_first,
)
from tiercut.plan.problem import Wishes


def group_delay(problem, h, v, k, others) -> float:
    """T(k) of one group alone, straight from the cost model's terms."""
    members = np.array([k, *others])
    group = Placement.three_tiers(h, v, np.zeros(len(members)))
    terms = round_terms(problem.fleet.subset(members), problem.work, group, problem.scheme)
    everybody = Placement.three_tiers(h, v, np.arange(len(problem.fleet)))
    server = round_terms(problem.fleet, problem.work, everybody, problem.scheme).server
    if problem.model == "network" and problem.scheme.local_loss:
        return max(
            stage.max()
            for stage in (terms.chain, terms.processor, terms.radio, terms.uplink_shared)
        )
    shares = problem.model == "network"
    hop, uplink = (terms.hop_shared, terms.uplink_shared) if shares else (terms.hop, terms.uplink)
    forward = (terms.weak + hop + terms.hosting + uplink).max()
    backward = (2 * terms.hosting + hop + 2 * terms.weak).max()
    if problem.scheme.local_loss:
        return forward + max(server, backward)
    return forward + server + (uplink + 2 * terms.hosting + hop + 2 * terms.weak).max()


def slow_assign(problem, h, v, aggregators) -> list[int]:
    """The greedy assignment as the paper's pseudocode has it."""
    groups = {k: [] for k in aggregators}
    for n in np.argsort(-problem.fleet.throughput).tolist():
        if n in groups:
            continue
        delays = {k: group_delay(problem, h, v, k, [*groups[k], n]) for k in groups}
        groups[min(delays, key=delays.get)].append(n)
    served_by = list(range(len(problem.fleet)))
    for k, others in groups.items():
        for n in others:
            served_by[n] = k
    return served_by


@pytest.mark.parametrize("scheme", ["aa-hsfl-ll", "multihop"])
@pytest.mark.parametrize("links", LINKS)
@pytest.mark.parametrize("model", MODELS)
def test_agrees_with_its_slow_twin(model, links, scheme):
    for seed in range(6):
        problem = random_problem(seed, 9, model=model, links=links, scheme=scheme)
        order = strongest_first(problem)
        for h, v in problem.layer_pairs()[:3]:
            rows = assign(problem, h, v, order, [1, 2, 4])
            for row, count in zip(rows.tolist(), [1, 2, 4], strict=True):
                assert row == slow_assign(problem, h, v, order[:count].tolist())


@pytest.mark.parametrize("links", LINKS)
@pytest.mark.parametrize("model", MODELS)
def test_weak_aggregators_count_with_their_own_model(model, links):
    """Aggregators need not be the strongest: their own batch may be what a group waits for."""
    for seed in range(6):
        problem = random_problem(seed, 8, model=model, links=links, scheme="multihop")
        weakest = strongest_first(problem)[::-1][:3]
        h, v = problem.layer_pairs()[0]
        row = assign(problem, h, v, weakest, [3])[0].tolist()
        assert row == slow_assign(problem, h, v, weakest.tolist())


@relaxed
@given(problems(max_clients=7, with_wishes=True))
def test_rows_do_not_disturb_each_other(problem):
    h, v = problem.layer_pairs()[0]
    order = strongest_first(problem)
    counts = range(1, len(problem.fleet) + 1)
    together = assign(problem, h, v, order, counts)
    alone = [assign(problem, h, v, order, [count])[0] for count in counts]
    assert together.tolist() == np.array(alone).tolist()


@relaxed
@given(problems(max_clients=7, with_wishes=True))
def test_candidates_honour_wishes(problem):
    counts = aggregator_counts(problem, len(problem.fleet))
    for h, v in problem.layer_pairs():
        for candidate in greedy_candidates(problem, h, v, counts):
            assert_honours(problem, candidate.placement)
            assert candidate.seconds == problem.seconds(candidate.placement)


def test_many_numbers_of_aggregators_come_in_blocks(monkeypatch):
    problem = random_problem(0, 12)
    whole = [c.seconds for c in greedy_candidates(problem, 2, 3, range(1, 13))]
    monkeypatch.setattr("tiercut.plan.greedy.ROWS_AT_ONCE", 5)
    assert [c.seconds for c in greedy_candidates(problem, 2, 3, range(1, 13))] == whole


def test_strongest_first_and_equals_by_their_link_to_the_server():
    fleet = one_strong_three_weak()
    fleet = replace(fleet, to_server=np.array([1.0, 7.0, 9.0, 8.0]))
    assert strongest_first(problem_of(fleet)).tolist() == [0, 2, 3, 1]


def test_those_who_may_serve_others_come_first():
    order = strongest_first(problem_of(one_strong_three_weak(), allowed=frozenset({2, 3})))
    assert order.tolist() == [2, 3, 0, 1]


def test_a_client_that_may_not_serve_others_aggregates_for_itself():
    problem = problem_of(one_strong_three_weak(), allowed=frozenset({3}), aggregators=2)
    (candidate,) = greedy_candidates(problem, 2, 3, [2])
    assert candidate.placement.aggregator_of.tolist() == [0, 3, 3, 3]


def test_a_client_out_of_reach_serves_itself():
    """Only a aggregates; c and d have no link to it."""
    (candidate,) = greedy_candidates(problem_of(two_islands()), 2, 3, [1])
    assert candidate.placement.aggregator_of.tolist() == [0, 0, 2, 3]


def test_a_forbidden_pair_is_not_formed_in_either_direction():
    for pair in [(0, 1), (1, 0)]:
        problem = problem_of(two_islands(), forbidden=frozenset({pair}))
        (candidate,) = greedy_candidates(problem, 2, 3, [2])
        assert candidate.placement.aggregator_of.tolist() == [0, 1, 2, 2]


def test_a_fixed_number_that_does_not_work_out_is_an_error():
    problem = problem_of(all_apart(), aggregators=2)
    candidates = greedy_candidates(problem, 2, 3, [2])
    with pytest.raises(InfeasibleError, match=r"fixed to 2.*--lambda"):
        fastest_greedy(problem, candidates, None)


def test_relabelling_clients_changes_nothing():
    for seed in range(5):
        problem = random_problem(seed, 10)
        order = np.random.default_rng(seed).permutation(10)
        other = replace(problem, fleet=problem.fleet.subset(order))
        h, v = problem.layer_pairs()[-1]
        one, two = (
            [c.seconds for c in greedy_candidates(p, h, v, range(1, 11))] for p in (problem, other)
        )
        assert one == pytest.approx(two)


def test_counts_run_in_steps_unless_fixed():
    problem = random_problem(0, 9)
    assert list(aggregator_counts(problem, 9, 3)) == [1, 4, 7]
    fixed = replace(problem, wishes=Wishes(aggregators=5))
    assert list(aggregator_counts(fixed, 2)) == [5]
