"""Planning for a target accuracy: estimates of rounds, and the best product that they lead to."""

import math
from dataclasses import dataclass, replace

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
from tiercut.cost import Placement, round_bytes
from tiercut.errors import InfeasibleError, InputError
from tiercut.plan import brute
from tiercut.plan.goal import fastest as fastest_module
from tiercut.plan.goal import leanest as leanest_module
from tiercut.plan.goal.choices import find_pairs
from tiercut.plan.goal.curve import reached_after, show_percent
from tiercut.plan.goal.fastest import fastest
from tiercut.plan.goal.leanest import bytes_of_numbers, leanest
from tiercut.plan.goal.learned import rounds_from_runs
from tiercut.plan.goal.lesson import FEATURES, Lesson, Sizes, features, how_often
from tiercut.plan.goal.probed import ProbeCurves, relative_epochs, rounds_from_probe
from tiercut.plan.goal.reach import reach
from tiercut.plan.goal.rounds import Rounds
from tiercut.plan.solve import solve

few = settings(relaxed, max_examples=60)


# ------------------------------------------------------------------------------------- curves


def test_a_curve_is_followed_on_straight_lines():
    curve = [0.2, 0.4, 0.3, 0.8]
    assert reached_after(curve, 0.3, start=0.1) == pytest.approx(1.5)
    assert reached_after(curve, 0.15, start=0.1) == pytest.approx(0.5)
    assert reached_after(curve, 0.55, start=0.1) == pytest.approx(3.5)
    assert reached_after(curve, 0.8, start=0.1) == 4
    assert reached_after(curve, 0.81, start=0.1) == math.inf
    assert reached_after(curve, 0.1, start=0.1) == 0


def test_percents_are_rounded_down():
    assert show_percent(0.75) == "75 %"
    assert show_percent(0.77199) == "77.1 %"


# -------------------------------------------------------------------------------------- probes


def curves_of(*rows, error=0.0, cuts=None, classes=10):
    accuracy = np.array(rows, dtype=float)
    cuts = tuple(range(3, 3 + len(rows))) if cuts is None else cuts
    return ProbeCurves(cuts, accuracy, np.full(accuracy.shape, error), classes)


QUICK, SLOW, SLOWEST = [0.3, 0.5, 0.7, 0.8], [0.2, 0.3, 0.5, 0.7], [0.1, 0.2, 0.3, 0.4]
ANY = np.array([1, 7])


def test_rounds_of_half_the_data_are_twice_as_many():
    whole, half = (rounds_from_probe(curves_of(QUICK), (3,), 0.7, epochs) for epochs in (1, 0.5))
    assert half.by_cut[3][0] == 2 * whole.by_cut[3][0]
    assert "4 epochs, 0.5 to a round" in half.basis


def test_a_probes_rounds_are_its_epochs():
    probed = rounds_from_probe(curves_of(QUICK, SLOW), (3, 4), 0.7, epochs=2)
    assert probed.rounds(2, 3, ANY).likely.tolist() == pytest.approx([1.5, 1.5])
    assert probed.rounds(3, 4, ANY).likely.tolist() == pytest.approx([2, 2])
    assert "4 epochs, 2 to a round" in probed.basis
    assert "did not" not in probed.basis


def test_fewer_rounds_than_one_there_are_not():
    probed = rounds_from_probe(curves_of(QUICK), (3,), 0.3, epochs=5)
    assert probed.rounds(2, 3, ANY).likely.tolist() == [1, 1]


def test_the_spread_is_that_of_the_clients():
    probed = rounds_from_probe(curves_of(QUICK, SLOW, error=0.05), (3, 4), 0.6, epochs=1)
    rounds = probed.rounds(2, 3, ANY)
    assert rounds.low[0] == pytest.approx(2.25)
    assert rounds.likely[0] == pytest.approx(2.5)
    assert rounds.high[0] == pytest.approx(2.75)


def test_a_cut_that_fails_is_compared_where_it_did_not():
    """At 40 % the slowest takes 4 epochs and the quick one 1.5, which needs 3.5 to the target."""
    probed = rounds_from_probe(curves_of(QUICK, SLOWEST), (3, 4), 0.75, epochs=1)
    assert probed.by_cut[3][0] == pytest.approx(3.5)
    assert probed.by_cut[4][0] == pytest.approx(4 * 3.5 / 1.5)
    assert "cut 4 did not surely reach the target" in probed.basis
    assert "compared at 40 %" in probed.basis


def test_a_cut_that_fails_needs_longer_than_the_probe():
    stalls = [0.6, 0.6, 0.6, 0.6]
    probed = rounds_from_probe(curves_of(QUICK, stalls), (3, 4), 0.75, epochs=1)
    assert probed.by_cut[4][0] == 4


def test_a_target_beyond_the_probe_is_refused_with_the_highest_there_is():
    with pytest.raises(InputError, match=r"target is 90 %.* supports targets up to 78 %"):
        rounds_from_probe(curves_of(QUICK, SLOW, error=0.02), (3, 4), 0.9, epochs=1)


def test_a_cut_that_only_guesses_cannot_be_compared():
    guesses = [0.1, 0.11, 0.1, 0.12]
    with pytest.raises(InputError, match=r"cut 4 got no further than 12 %"):
        rounds_from_probe(curves_of(QUICK, guesses), (3, 4), 0.7, epochs=1)


def test_a_cut_that_was_not_probed_is_refused():
    with pytest.raises(InputError, match="cut 5 was not probed"):
        rounds_from_probe(curves_of(QUICK, SLOW), (3, 5), 0.7, epochs=1)


def test_cuts_are_relative_to_the_quickest():
    ratios = relative_epochs(curves_of(QUICK, SLOW), (3, 4))
    assert ratios == {3: 1.0, 4: pytest.approx(4 / 3)}


# ---------------------------------------------------------------------------------------- runs

SIZES = Sizes(depth=8, clients=16, batches=24, epochs=3)


def test_intervals_are_counted_by_their_averages():
    often = [how_often(SIZES, interval) for interval in ("round", "epoch", 8, 4, 1, "batch")]
    assert often == sorted(often)
    assert often[0] == 0
    assert often[1] == often[2] == pytest.approx(math.log(3) / math.log(24))
    assert often[-1] == often[-2] == 1
    assert how_often(Sizes(8, 16, 1, 1), "batch") == 0


def test_features_say_what_meets():
    epoch = ("epoch", "epoch")
    x = features(SIZES, 2, 6, np.array([1, 4, 16]), epoch)
    assert x.shape == (3, len(FEATURES))
    assert x[:, 0].tolist() == [0.75] * 3
    assert x[:, 1].tolist() == pytest.approx([0.75, 0.5, 0.25])
    assert x[:, 2].tolist() == pytest.approx(x[:, 1] * how_often(SIZES, "epoch"))
    alone = features(SIZES, 6, 6, np.array([16]), epoch)
    assert alone[0].tolist() == pytest.approx(x[2].tolist())  # lambda = 1 trains as LocSFL does
    every_batch = features(SIZES, 2, 6, np.array([4]), ("batch", "batch"))
    assert every_batch[0, 2] == every_batch[0, 1]


def run(v, rounds, h=2, aggregators=4, intervals=("epoch", "epoch"), length=40):
    """A run whose accuracy grows evenly, and reaches 80 % after so many rounds."""
    curve = tuple(min(1.0, 0.8 * (n + 1) / rounds) for n in range(length))
    return Lesson(h, v, aggregators, intervals, curve)


def test_runs_that_follow_a_rule_are_predicted_by_it():
    def rule(v):
        return 5 * math.exp(v / 8)

    learned = rounds_from_runs(
        [run(v, rule(v)) for v in (3, 4, 5, 6, 7)], 0.8, SIZES, ("epoch", "epoch")
    )
    rounds = learned.rounds(2, 5, np.array([4]))
    assert rounds.likely[0] == pytest.approx(rule(5), rel=1e-6)
    assert rounds.low[0] <= rounds.likely[0] <= rounds.high[0]
    assert "5 runs of 5 settings" in learned.basis
    assert "factor of 1.00" in learned.basis


def test_how_often_layers_meet_is_learned():
    runs = [
        run(v, 20 - 10 * features(SIZES, 2, v, np.array([4]), (i, i))[0, 2], intervals=(i, i))
        for v in (4, 6)
        for i in ("round", "epoch", "batch")
    ]
    learned = rounds_from_runs(runs, 0.8, SIZES, ("batch", "batch"))
    assert "layers that meet often" in learned.basis
    often = learned.rounds(2, 5, np.array([4])).likely[0]
    seldom = replace(learned, intervals=("round", "round")).rounds(2, 5, np.array([4])).likely[0]
    assert often < seldom


def test_where_nothing_tells_runs_apart_all_choices_are_equal():
    runs = [run(v, 10) for v in (3, 4, 5)]
    learned = rounds_from_runs(runs, 0.8, SIZES, ("epoch", "epoch"))
    assert "told apart by nothing" in learned.basis
    assert learned.rounds(2, 4, np.array([1, 5, 16])).likely.tolist() == pytest.approx([10] * 3)


def test_beyond_the_runs_there_is_no_estimate():
    learned = rounds_from_runs([run(v, 3 * v) for v in (4, 5, 6)], 0.8, SIZES, ("epoch", "epoch"))
    assert np.isfinite(learned.rounds(2, 5, np.array([4])).likely[0])
    assert np.isinf(learned.rounds(2, 3, np.array([4])).likely[0])
    assert np.isinf(learned.rounds(2, 7, np.array([4])).likely[0])


def test_a_probe_knows_of_cuts_that_no_run_had():
    ratios = {3: 1.0, 4: 1.5, 5: 2.0, 6: 4.0}
    runs = [run(v, 6 * ratios[v], aggregators=k) for v, k in ((3, 4), (4, 8), (5, 2), (3, 2))]
    learned = rounds_from_runs(runs, 0.8, SIZES, ("epoch", "epoch"), ratios)
    assert "the probe's ratios of cuts" in learned.basis
    assert learned.rounds(2, 6, np.array([4])).likely[0] == pytest.approx(24)


def test_seeds_of_one_setting_are_left_out_together():
    same = [run(3, 10), run(3, 10.5), run(3, 9.5)]
    with pytest.raises(InputError, match="have 1 different settings; expected at least 3"):
        rounds_from_runs(same, 0.8, SIZES, ("epoch", "epoch"))


def test_a_target_beyond_the_runs_is_refused_with_the_highest_there_is():
    runs = [run(3, 10, length=5), run(4, 10, length=6), run(5, 10, length=7)]
    with pytest.raises(InputError, match=r"target is 80 %.* reached 40 %; lower --target"):
        rounds_from_runs(runs, 0.8, SIZES, ("epoch", "epoch"))


def test_a_run_that_ended_too_soon_counts_only_where_it_says_something():
    quick = [run(v, 10) for v in (3, 4, 5)]
    stopped = rounds_from_runs([*quick, run(6, 30, length=4)], 0.8, SIZES, ("epoch", "epoch"))
    assert "3 runs of 3 settings" in stopped.basis
    assert "1 runs ended before the target" in stopped.basis
    slow = rounds_from_runs([*quick, run(6, 30, length=25)], 0.8, SIZES, ("epoch", "epoch"))
    assert "4 runs of 4 settings" in slow.basis
    assert slow.rounds(2, 6, np.array([4])).likely[0] > 10


# --------------------------------------------------------------------------------- the best product


@dataclass(frozen=True)
class Rule:
    """Rounds by a table of factors; some choices may be without evidence."""

    by_pair: dict
    power: float
    unknown: frozenset = frozenset()
    basis: str = "made up"

    def rounds(self, h, v, aggregators):
        likely = self.by_pair[h, v] * aggregators**self.power
        likely = np.where(np.isin(aggregators, list(self.unknown)), np.inf, likely)
        return Rounds.of(likely, likely * 0.9, likely * 1.1)


@st.composite
def rules(draw, problem):
    factors = st.sampled_from([1.0, 1.5, 2.0, 3.5, 10.0])
    by_pair = {pair: draw(factors) for pair in problem.layer_pairs()}
    unknown = draw(st.just(frozenset()) | st.frozensets(st.integers(1, 4), max_size=2))
    return Rule(by_pair, draw(st.sampled_from([0.0, 0.0, 0.2, 1.0, -0.5])), unknown)


def every_product(problem, rule, price):
    """The least price of every h, v and number of aggregators, times its rounds."""
    fixed = problem.wishes.aggregators
    for h, v in problem.layer_pairs():
        for number in range(1, len(problem.fleet) + 1) if fixed is None else [fixed]:
            rounds = float(rule.rounds(h, v, np.array([number])).likely[0])
            wishes = replace(problem.wishes, aggregator_layer=h, aggregators=number)
            own = replace(problem, cuts=(v,), wishes=wishes)
            try:
                placement = brute.solve(own).placement
            except InfeasibleError:
                continue
            if math.isfinite(rounds):
                yield rounds * price(own, placement)


def seconds(problem, placement):
    return problem.seconds(placement)


def size(problem, placement):
    return round_bytes(problem.fleet, problem.work, placement, problem.scheme).total


def product_of(problem, rule, placement, price):
    h, v = int(placement.aggregator_layers[0]), int(placement.cut_layers[0])
    number = np.array([len(placement.aggregators)])
    return float(rule.rounds(h, v, number).likely[0]) * price(problem, placement)


def assert_best(problem, rule, search, price):
    """The search finds the least product there is; how much of it the bound is."""
    all_of_them = list(every_product(problem, rule, price))
    if not all_of_them:
        with pytest.raises(InfeasibleError):
            search(problem, rule)
        return None
    found = search(problem, rule)
    assert_honours(problem, found.placement)
    total = product_of(problem, rule, found.placement, price)
    assert total == pytest.approx(min(all_of_them), rel=1e-6)
    assert found.lower_bound <= total * (1 + 1e-12)
    return found.lower_bound / total


@few
@given(st.data(), problems(max_clients=4, max_layers=5, with_wishes=True))
def test_the_fastest_product_is_that_of_all_there_are(data, problem):
    assert_best(problem, data.draw(rules(problem)), fastest, seconds)


@few
@given(st.data(), problems(max_clients=4, max_layers=5, with_wishes=True))
def test_the_leanest_product_is_that_of_all_there_are(data, problem):
    assert_best(problem, data.draw(rules(problem)), leanest, size)


@pytest.mark.parametrize("links", ["between", "access"])
@pytest.mark.parametrize("power", [0.0, 0.5])
def test_five_unlike_clients_have_a_best_product_too(power, links):
    problem = random_problem(4, 5, links=links)
    problem = replace(problem, cuts=problem.cuts[:2])
    by_pair = {(h, v): 10 + 3 * v - h for h, v in problem.layer_pairs()}
    proved = assert_best(problem, Rule(by_pair, power), fastest, seconds)
    assert proved == pytest.approx(1, abs=1e-5)


def test_with_equal_rounds_it_is_the_fastest_plan():
    problem = random_problem(2, 6)
    plan = solve(problem)
    rule = Rule(dict.fromkeys(problem.layer_pairs(), 7.0), 0.0)
    found = fastest(problem, rule)
    assert problem.seconds(found.placement) == pytest.approx(plan.seconds.round)
    assert found.lower_bound == pytest.approx(7 * plan.lower_bound)


def test_many_rounds_speak_against_a_fast_cut():
    problem = random_problem(3, 5)
    quick = solve(problem).placement
    chosen = (int(quick.aggregator_layers[0]), int(quick.cut_layers[0]))
    rule = Rule({pair: 100.0 if pair == chosen else 1.0 for pair in problem.layer_pairs()}, 0.0)
    found = fastest(problem, rule).placement
    assert (found.aggregator_layers[0], found.cut_layers[0]) != chosen


def test_a_larger_fleet_gets_a_bound_that_holds(monkeypatch):
    problem = replace(random_problem(5, 16), cuts=(3,))
    rule = Rule(dict.fromkeys(problem.layer_pairs(), 5.0), 0.3)
    told = []
    patient = fastest(problem, rule, lambda seconds, bound: told.append((seconds, bound)))
    total = product_of(problem, rule, patient.placement, seconds)
    assert 0.9 * total <= patient.lower_bound <= total
    assert told
    assert all(bound <= seconds for seconds, bound in told)
    monkeypatch.setattr(fastest_module, "MOST_NUMBERS", 0)
    hasty = fastest(problem, rule)
    assert hasty.lower_bound <= patient.lower_bound * (1 + 1e-9)
    assert product_of(problem, rule, hasty.placement, seconds) >= patient.lower_bound


def test_what_is_neither_found_nor_refuted_leaves_a_doubt(monkeypatch):
    """Nobody but the first may serve others, and it may not serve the last: one is not enough."""
    problem = random_problem(6, 14)
    wishes = replace(problem.wishes, allowed=frozenset({0}), forbidden=frozenset({(13, 0)}))
    problem = replace(problem, cuts=(3,), wishes=wishes)
    rule = Rule(dict.fromkeys(problem.layer_pairs(), 5.0), 9.0)
    sure = leanest(problem, rule)
    assert len(sure.placement.aggregators) == 2
    assert sure.lower_bound == pytest.approx(product_of(problem, rule, sure.placement, size))
    monkeypatch.setattr(leanest_module, "is_impossible", lambda search, pair: False)
    assert leanest(problem, rule).lower_bound < sure.lower_bound
    monkeypatch.setattr(leanest_module, "MOST_TRIED", 1)
    with pytest.raises(InfeasibleError, match="no plan was found"):
        leanest(problem, rule)


def test_what_is_proved_impossible_leaves_no_doubt():
    problem = problem_of(two_islands())
    rule = Rule(dict.fromkeys(problem.layer_pairs(), 1.0), 3.0)
    for search, price in ((fastest, seconds), (leanest, size)):
        assert assert_best(problem, rule, search, price) == pytest.approx(1, abs=1e-5)


def test_islands_without_evidence_for_two_have_no_plan():
    problem = problem_of(two_islands(), aggregators=1)
    rule = Rule(dict.fromkeys(problem.layer_pairs(), 5.0), 0.0)
    for search in (fastest, leanest):
        with pytest.raises(InfeasibleError, match="has evidence"):
            search(problem, rule)


def test_without_any_evidence_there_is_no_choice():
    problem = problem_of(one_strong_three_weak())
    rule = Rule(dict.fromkeys(problem.layer_pairs(), 5.0), 0.0, frozenset({1, 2, 3, 4}))
    with pytest.raises(InfeasibleError, match="what there is: made up"):
        find_pairs(problem, rule)


@few
@given(problems(max_clients=5))
def test_bytes_are_a_line_over_the_numbers(problem):
    rule = Rule(dict.fromkeys(problem.layer_pairs(), 1.0), 0.0)
    clients = len(problem.fleet)
    for pair in find_pairs(problem, rule):
        amounts = bytes_of_numbers(problem, pair)
        for number, amount in zip(pair.numbers, amounts, strict=True):
            served_by = np.minimum(np.arange(clients), number - 1)
            placement = Placement.three_tiers(pair.h, pair.v, served_by)
            assert amount == pytest.approx(size(problem, placement))


# ------------------------------------------------------------------------------------- the plan


@pytest.mark.parametrize("kind", ["time-to-accuracy", "bytes-to-accuracy"])
def test_the_plan_says_what_was_aimed_at(kind):
    problem = problem_of(one_strong_three_weak())
    rule = Rule(dict.fromkeys(problem.layer_pairs(), 4.0), 0.5)
    plan = reach(problem, kind, 0.75, rule)
    aim = plan.objective
    assert (aim.kind, aim.target, aim.evidence) == (kind, 0.75, "made up")
    assert aim.rounds_low < aim.rounds < aim.rounds_high
    assert aim.total_seconds == pytest.approx(aim.rounds * plan.seconds.round)
    assert aim.total_bytes == pytest.approx(aim.rounds * plan.traffic.total)
    assert aim.total == (aim.total_seconds if kind == "time-to-accuracy" else aim.total_bytes)
    assert 0 <= aim.gap < 1e-5
    assert plan.lower_bound is None
    assert plan.to_dict()["objective"] == aim.to_dict()


def test_a_plan_without_a_goal_says_nothing_of_one():
    assert "objective" not in solve(problem_of(one_strong_three_weak())).to_dict()
