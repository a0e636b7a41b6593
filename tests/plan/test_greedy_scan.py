import pytest
from hypothesis import given

from tests.plan.instances import all_apart, assert_honours, problem_of, problems, relaxed
from tiercut.errors import InfeasibleError
from tiercut.plan import brute, greedy_scan, paper


@relaxed
@given(problems(with_wishes=True))
def test_lies_between_brute_and_paper(problem):
    """It tries all that `paper` tries, and brute force tries everything."""
    try:
        found = greedy_scan.solve(problem).placement
    except InfeasibleError:
        assert problem.wishes.aggregators is not None
        return
    assert_honours(problem, found)
    best, rough = (solver.solve(problem).placement for solver in (brute, paper))
    assert problem.seconds(best) <= problem.seconds(found) <= problem.seconds(rough)


@relaxed
@given(problems())
def test_out_of_time_it_still_has_a_plan(problem):
    assert_honours(problem, greedy_scan.solve(problem, time_limit=0.0).placement)


def test_all_may_serve_only_themselves():
    """K = N is tried, though the paper stops at N/2."""
    placement = greedy_scan.solve(problem_of(all_apart(), aggregators=3)).placement
    assert placement.aggregator_of.tolist() == [0, 1, 2]


def test_says_why_there_is_no_plan():
    with pytest.raises(InfeasibleError, match="fixed to 1"):
        greedy_scan.solve(problem_of(all_apart(), aggregators=1))
