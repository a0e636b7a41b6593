import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.measure.instances import results
from tiercut.measure.gains import Gain, find_gains, scheme_of_interest
from tiercut.measure.points import Point
from tiercut.measure.results import Contender, Run
from tiercut.measure.spread import Spread
from tiercut.measure.targets import Reach, choose_targets, find_reach

accuracies = st.lists(st.floats(0, 1), min_size=1, max_size=6)


def point(number, accuracy=0.5, seconds=10.0, size=1000.0):
    return Point(round=number, accuracy=accuracy, seconds=number * seconds, bytes=number * size)


def contender(*curves, name="sfl"):
    runs = [
        Run(seed, tuple(point(n, a) for n, a in enumerate(curve, start=1)), None)
        for seed, curve in enumerate(curves)
    ]
    return Contender(name, name, len(curves[0]), tuple(runs))


# --------------------------------------------------------------------------------------- spreads


@given(st.lists(st.floats(0, 1e12), min_size=1, max_size=9))
def test_the_mean_is_within_the_spread(values):
    spread = Spread.of(values)
    assert spread.low <= spread.mean <= spread.high
    assert list(spread.values) == values


def test_one_seed_has_no_width():
    assert Spread.of([0.1]).to_dict() == {"mean": 0.1, "low": 0.1, "high": 0.1, "values": [0.1]}


# --------------------------------------------------------------------------------------- reaching


def test_a_target_is_reached_at_the_first_round_that_has_it():
    reach = find_reach(contender([0.1, 0.5, 0.3, 0.9]), 0.5)
    assert (reach.points[0].round, reach.seconds.mean, reach.bytes.mean) == (2, 20.0, 2000.0)


def test_only_those_who_reached_it_are_in_the_mean():
    reach = find_reach(contender([0.1, 0.6], [0.6, 0.7], [0.1, 0.2]), 0.6)
    assert not reach.by_all
    assert reach.to_dict() == {
        "reached": 2,
        "of": 3,
        "rounds": {"mean": 1.5, "low": 1, "high": 2, "values": [2, 1]},
        "seconds": {"mean": 15.0, "low": 10.0, "high": 20.0, "values": [20.0, 10.0]},
        "bytes": {"mean": 1500.0, "low": 1000.0, "high": 2000.0, "values": [2000.0, 1000.0]},
    }


def test_a_target_that_nobody_reaches():
    assert find_reach(contender([0.1], [0.2]), 0.5).to_dict() == {
        "reached": 0,
        "of": 2,
        "rounds": None,
        "seconds": None,
        "bytes": None,
    }


@given(accuracies, st.floats(0, 1), st.floats(0, 1))
def test_a_higher_target_is_never_reached_sooner(curve, one, other):
    low, high = sorted((one, other))
    sooner, later = (find_reach(contender(curve), target) for target in (low, high))
    assert len(sooner.points) >= len(later.points)
    if later.points:
        assert sooner.points[0].round <= later.points[0].round


# ------------------------------------------------------------------------------- chosen targets


def test_the_highest_target_is_below_the_worst_scheme_and_the_others_on_its_way():
    worst, better = contender([0.123, 0.4, 0.529]), contender([0.3, 0.5, 0.8], name="dtfl")
    assert choose_targets([worst, better]) == (0.32, 0.42, 0.52)


def test_two_schemes_reach_the_highest_from_every_seed():
    worst = contender([0.1, 0.3], [0.1, 0.7])  # half a point is missing from seed 0
    other = contender([0.1, 0.4], [0.1, 0.9], name="dtfl")
    best = contender([0.1, 0.8], [0.1, 0.8], name="locsfl")
    assert choose_targets([worst, other, best])[-1] == 0.40


@pytest.mark.parametrize(
    ("curves", "targets"),
    [([], ()), ([[0.0]], ()), ([[0.01]], (0.01,)), ([[0.5]], (0.48, 0.49, 0.5))],
)
def test_few_accuracies_give_few_targets(curves, targets):
    assert choose_targets([contender(curve) for curve in curves]) == targets


@given(st.lists(accuracies, min_size=1, max_size=4))
def test_chosen_targets_are_reached(curves):
    contenders = [contender(curve, name=str(n)) for n, curve in enumerate(curves)]
    targets = choose_targets(contenders)
    assert list(targets) == sorted(set(targets))
    for target in targets:
        reached = [find_reach(c, target).by_all for c in contenders]
        assert sum(reached) >= min(2, len(contenders))


# ----------------------------------------------------------------------------------------- gains


def reach(*numbers, of=None):
    return Reach(of or len(numbers), tuple(map(point, numbers)))


def test_a_gain_is_the_share_that_is_saved():
    reaches = {"sfl": {0.5: reach(4, 6)}, "aa-hsfl-ll": {0.5: reach(3, 1)}}
    assert find_gains(reaches, "aa-hsfl-ll", [0.5]) == [Gain("aa-hsfl-ll", "sfl", 0.5, 0.6, 0.6)]
    (loss,) = find_gains(reaches, "sfl", [0.5])
    assert loss.seconds == loss.bytes == -1.5


def test_there_is_no_gain_where_some_seed_did_not_get_there():
    some = {"sfl": {0.5: reach(4, of=2)}, "aa-hsfl-ll": {0.5: reach(3, 1)}}
    assert find_gains(some, "aa-hsfl-ll", [0.5]) == []
    assert find_gains(some, "sfl", [0.5]) == []
    assert find_gains({"sfl": {0.5: reach(4)}}, "aa-hsfl-ll", [0.5]) == []


def test_the_scheme_of_interest_is_aa_or_the_last():
    assert scheme_of_interest(["aa-hsfl-ll", "sfl"]) == "aa-hsfl-ll"
    assert scheme_of_interest(["locsfl", "sfl"]) == "sfl"


def test_unfinished_runs_count_for_targets(tmp_path):
    (found,) = results(tmp_path, {"sfl": {0: [0.1, 0.2, 0.3], 1: [0.2]}}).contenders
    assert find_reach(found, 0.2).by_all
