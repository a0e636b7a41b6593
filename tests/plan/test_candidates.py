import pytest

from tests.plan.instances import one_strong_three_weak, problem_of
from tiercut.cost import Placement
from tiercut.errors import InfeasibleError
from tiercut.plan.candidates import Candidate, fastest, priced

HERE = Placement.two_tiers([1])


def candidates(*seconds):
    return [Candidate(value, HERE) for value in seconds]


def test_the_first_of_the_fastest_wins():
    stream = candidates(3.0, 2.0, 2.0, 5.0)
    assert fastest(stream, time_limit=None, otherwise="none") is stream[1]


def test_no_candidate_is_an_error_with_the_given_sentence():
    with pytest.raises(InfeasibleError, match="nothing fits"):
        fastest([], time_limit=None, otherwise="nothing fits")


@pytest.mark.parametrize(("limit", "best"), [(0.0, 4.0), (1.5, 3.0), (100.0, 1.0)])
def test_what_time_does_not_allow_is_not_seen(limit, best):
    """The clock shows 0, then one second more after every candidate."""
    ticks = iter(range(10))
    found = fastest(
        candidates(4.0, 3.0, 2.0, 1.0),
        time_limit=limit,
        otherwise="none",
        clock=lambda: float(next(ticks)),
    )
    assert found.seconds == pytest.approx(best)


def test_a_candidate_costs_what_the_problem_says():
    problem = problem_of(one_strong_three_weak())
    placement = Placement.three_tiers(2, 3, [0, 0, 0, 0])
    assert priced(problem, placement).seconds == problem.seconds(placement)
