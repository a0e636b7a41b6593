from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.plan.instances import (
    assert_honours,
    one_strong_three_weak,
    problem_of,
    problems,
    random_problem,
    relaxed,
    two_islands,
)
from tiercut.errors import InputError
from tiercut.plan.plan import PlanFile
from tiercut.plan.replan import carry_over, replan
from tiercut.plan.solve import solve

few = settings(relaxed, max_examples=40)
EXACT = 1e-6


def file_of(plan, names):
    """A plan as it is read back from its file; without names where they are None."""
    written = {**plan.to_dict(), "clients": names}
    return PlanFile.model_validate(written)


def planned(problem):
    return file_of(solve(problem), problem.fleet.names)


def on_fleet(problem, fleet):
    return replace(problem, fleet=fleet)


@few
@given(problems(max_clients=5))
def test_on_the_same_fleet_nothing_is_gained(problem):
    result = replan(problem, planned(problem), "plan.json")
    assert 0 <= result.gain <= EXACT
    assert result.left == result.joined == ()
    assert_honours(problem, result.new.placement)


@few
@given(problems(max_clients=5), st.data())
def test_a_new_plan_is_never_slower_than_the_kept_one(problem, data):
    old = planned(problem)
    clients = len(problem.fleet)
    factors = st.lists(st.sampled_from([0.1, 1.0, 3.0]), min_size=clients, max_size=clients)
    changed = replace(
        problem.fleet,
        throughput=problem.fleet.throughput * data.draw(factors),
        to_server=problem.fleet.to_server * data.draw(factors),
    )
    result = replan(on_fleet(problem, changed), old, "plan.json")
    assert result.new.seconds.round <= result.kept.seconds.round
    assert result.gain >= 0
    assert result.new.lower_bound <= result.new.seconds.round
    assert result.kept.placement.aggregator_of.tolist() == list(old.aggregator_of)


@few
@given(problems(min_clients=3, max_clients=5), st.data())
def test_whoever_stays_keeps_its_aggregator_and_orphans_serve_themselves(problem, data):
    old = planned(problem)
    names = problem.fleet.names
    everybody = list(range(len(names)))
    kept = data.draw(st.lists(st.sampled_from(everybody), min_size=2, unique=True))
    fleet = problem.fleet.subset(np.array(kept))
    placement, left, joined = carry_over(old, fleet, "plan.json")
    assert set(left) == set(names) - set(fleet.names)
    assert joined == ()
    for n, k in enumerate(placement.aggregator_of):
        before = names[old.aggregator_of[kept[n]]]
        assert fleet.names[k] == (before if before in fleet.names else fleet.names[n])
    result = replan(on_fleet(problem, fleet), old, "plan.json")
    assert result.new.seconds.round <= result.kept.seconds.round


def test_clients_that_join_serve_themselves_at_first():
    problem = random_problem(4, 5)
    fewer = problem.fleet.subset(np.array([3, 1, 0]))
    result = replan(problem, planned(on_fleet(problem, fewer)), "plan.json")
    assert result.joined == (problem.fleet.names[2], problem.fleet.names[4])
    assert result.left == ()
    kept = result.kept.placement.aggregator_of
    assert (kept[2], kept[4]) == (2, 4)
    assert result.gain >= 0


def test_the_order_of_the_clients_does_not_matter():
    problem = random_problem(6, 5)
    turned = on_fleet(problem, problem.fleet.subset(np.arange(5)[::-1]))
    result = replan(turned, planned(problem), "plan.json")
    assert 0 <= result.gain <= EXACT
    assert result.left == result.joined == ()


def test_members_of_an_aggregator_that_left_are_orphans():
    problem = problem_of(one_strong_three_weak(), cuts=(4,), aggregator_layer=2)
    old = planned(problem)
    assert old.aggregator_of == (0, 0, 0, 0)
    rest = problem.fleet.subset(np.array([1, 2, 3]))
    placement, left, _ = carry_over(old, rest, "plan.json")
    assert left == ("a",)
    assert placement.aggregator_of.tolist() == [0, 1, 2]


def test_a_plan_without_names_goes_by_position():
    problem = random_problem(2, 4)
    old = file_of(solve(problem), None)
    result = replan(problem, old, "plan.json")
    assert 0 <= result.gain <= EXACT
    assert result.kept.placement.aggregator_of.tolist() == list(old.aggregator_of)


def test_a_plan_without_names_fits_no_fleet_of_another_size():
    problem = random_problem(2, 4)
    old = file_of(solve(problem), None)
    smaller = on_fleet(problem, problem.fleet.subset(np.arange(3)))
    with pytest.raises(InputError, match=r"plan\.json: .* no client names .* 4 .* 3"):
        replan(smaller, old, "plan.json")


def test_a_name_too_few_is_refused():
    problem = random_problem(2, 4)
    old = file_of(solve(problem), problem.fleet.names[:3])
    with pytest.raises(InputError, match=r"3 names and aggregator_of 4"):
        replan(problem, old, "plan.json")


@pytest.mark.parametrize("wrong", [-1, 4, 99])
def test_an_aggregator_that_is_no_client_is_refused(wrong):
    problem = random_problem(2, 4)
    served_by = (wrong, 1, 2, 3)
    old = planned(problem).model_copy(update={"aggregator_of": served_by})
    with pytest.raises(InputError, match=r"aggregator_of\[0\]"):
        replan(problem, old, "plan.json")


def test_a_lost_link_orphans_a_client_as_a_lost_aggregator_does():
    """a served b; their link is gone, and the new plan must not need it."""
    problem = problem_of(two_islands(), cuts=(4,), aggregator_layer=2)
    old = planned(problem).model_copy(update={"aggregator_of": (0, 0, 2, 2)})
    rates = problem.fleet.links.rates.copy()
    rates[0, 1] = rates[1, 0] = 0.0
    apart = replace(problem.fleet, links=type(problem.fleet.links)(rates))
    result = replan(on_fleet(problem, apart), old, "plan.json")
    assert result.new.placement.aggregator_of[:2].tolist() == [0, 1]


def test_other_cuts_than_the_old_ones_are_planned_from_scratch():
    problem = random_problem(1, 4)
    old = planned(replace(problem, cuts=(3,)))
    deeper = replace(problem, cuts=(4,))
    result = replan(deeper, old, "plan.json")
    assert set(result.kept.placement.cut_layers) == {3}
    assert set(result.new.placement.cut_layers) == {4}


def test_the_file_says_what_the_plan_replaces():
    problem = random_problem(8, 4)
    result = replan(problem, planned(problem), "plan.json")
    written = result.to_dict()
    assert written["replaces"]["round_seconds"] == result.kept.seconds.round
    assert written["replaces"]["gain"] == result.gain
    assert written["round_seconds"] == result.new.seconds.round
