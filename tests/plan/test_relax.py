"""What the tests that refute must never do, and that their fast ways equal the slow ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plan.instances import problems, random_problem, relaxed
from tiercut.cost import Placement
from tiercut.plan import brute, exact, relax
from tiercut.plan.limits import Box, Limits
from tiercut.plan.relax import Prices, relax_with_number, slots_suffice
from tiercut.plan.sites import find_sites

PRICES = st.lists(st.floats(0.01, 100.0), min_size=5, max_size=5)


def questions_with_answer(problem, plan):
    """Boxes that hold the plan `plan`, with its (h, v) and thresholds: all, and just the plan."""
    h, v = int(plan.aggregator_layers[0]), int(plan.cut_layers[0])
    search = exact.Search(problem, None)
    search.consider(plan)
    limits = Limits(find_sites(problem), h, v)
    thresholds = search.thresholds_of(h, v)
    everything = Box(limits.floor, tuple(np.inf for _ in limits.floor))
    return limits, thresholds, (everything, Box(thresholds, thresholds))


@st.composite
def problems_with_a_plan(draw):
    problem = draw(problems(max_clients=5, with_wishes=True))
    plans = list(brute._every_assignment(problem))
    h, v = draw(st.sampled_from(problem.layer_pairs()))
    served_by = draw(st.sampled_from(plans)) if plans else None
    return problem, None if served_by is None else Placement.three_tiers(h, v, served_by)


@relaxed
@given(problems_with_a_plan(), PRICES)
def test_no_test_refutes_a_plan(case, worth):
    problem, plan = case
    if plan is None:
        return
    limits, thresholds, boxes = questions_with_answer(problem, plan)
    seconds = limits.cost(thresholds) * (1 + 1e-9)
    for box in boxes:
        relaxation = relax.relax(limits, seconds, box)
        assert relaxation is not None
        assert slots_suffice(relaxation)
        assert not Prices(np.array(worth)[: len(limits.sites)]).refute(relaxation, 20)[0]
        if limits.sites.single:
            assert relax_with_number(limits, seconds, box, len(plan.aggregators)) is not None


@relaxed
@given(problems_with_a_plan())
def test_a_tight_box_still_holds_the_plan(case):
    problem, plan = case
    if plan is None:
        return
    limits, thresholds, boxes = questions_with_answer(problem, plan)
    for box in boxes:
        tight = limits.tight(limits.cost(thresholds) * (1 + 1e-9), box)
        assert tight is not None
        for low, value, high in zip(tight.low, thresholds, tight.high, strict=True):
            assert low <= value * (1 + 1e-12)
            assert value <= high * (1 + 1e-12)


def test_a_tight_box_has_only_thetas_that_hosts_need():
    problem = random_problem(0, 20)
    limits = Limits(find_sites(problem), 2, 3)
    everything = Box(limits.floor, tuple(np.inf for _ in limits.floor))
    tight = limits.tight(limits.worst(), everything)
    possible = np.unique(np.maximum(limits.fetch, limits.floor[0]))
    assert tight.low[0] == possible[0]
    assert tight.high[0] == possible[-1]
    between = float(possible[:2].mean())
    empty = everything.at_least(0, between).at_most(0, between)
    assert limits.tight(limits.worst(), empty) is None


@pytest.mark.parametrize("seed", range(10))
def test_the_best_groups_are_the_best(seed):
    """Against trying every size of group, host by host."""
    rng = np.random.default_rng(seed)
    worth = rng.permutation(8) + 1.0
    limit = rng.integers(1, 5, (3, 8))
    places = np.arange(1, 4)[:, None, None]
    earned, wanted_by = relax._best_groups(worth, limit >= places + 1, places)
    groups = []
    for of_host in limit:
        fitting = [np.flatnonzero(of_host >= load) for load in (2, 3, 4)]
        best = [n[np.argsort(-worth[n])[: 1 + i]] for i, n in enumerate(fitting)]
        groups.append(max(best, key=lambda group: worth[group].sum()))
    assert earned == pytest.approx(sum(worth[group].sum() for group in groups))
    assert wanted_by.tolist() == np.bincount(np.concatenate(groups), minlength=8).tolist()
