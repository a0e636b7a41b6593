"""Rounds shorter than a pass over the data: every engine takes the same portions."""

import pytest

from tests.engines.instances import distance, reference, settings, stacked, task, whole
from tiercut.engines.folding import Folded
from tiercut.engines.stacked import Stacked
from tiercut.schemes.registry import SHIPPED


@pytest.mark.parametrize("build", [stacked, lambda work: Stacked(work, settings(), Folded)])
@pytest.mark.parametrize("scheme", SHIPPED)
def test_stacked_trains_as_the_reference(scheme, build):
    work = task(scheme, "normed", portions=2)
    judge, fast = reference(work), build(work)
    for index in range(3):
        expected, found = (engine.run_round(whole(work, index)) for engine in (judge, fast))
    assert found.samples == expected.samples
    assert found.loss == pytest.approx(expected.loss, rel=1e-9)
    assert distance(fast.weights(), judge.weights()) < 1e-9


def test_a_round_of_all_portions_is_a_round_of_an_epoch_but_for_the_order_of_meetings():
    """A client alone, whose models meet nobody, learns the same either way."""
    short = task("locsfl", "plain", sizes=(8,), epochs=2, portions=2)
    long = task("locsfl", "plain", sizes=(8,), epochs=1)
    assert distance(trained(short), trained(long)) < 1e-9


def trained(work):
    engine = stacked(work)
    engine.run_round(whole(work, 0))
    return engine.weights()
