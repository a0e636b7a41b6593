import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tiercut.cost import Placement
from tiercut.seeds import Seeds
from tiercut.train.turnout import draw_participants, draw_presence

NAMES = tuple(f"client-{n}" for n in range(1, 11))
GROUPS = Placement.three_tiers(2, 3, [0, 0, 0, 3, 3, 3, 6, 6, 6, 9])


def presence(chance, number=1, epochs=4, placement=GROUPS, names=NAMES, seed=0):
    return draw_presence(names, placement, epochs, chance, Seeds(seed), number)


def test_the_share_is_rounded_up_and_drawn_anew_every_round():
    drawn = [draw_participants(NAMES, 0.25, Seeds(0), number) for number in range(1, 20)]
    assert {len(those) for those in drawn} == {3}
    assert len(set(drawn)) > 5
    assert frozenset().union(*drawn) == set(NAMES)
    assert draw_participants(NAMES, 1.0, Seeds(0), 1) == set(NAMES)
    assert len(draw_participants(NAMES, 0.01, Seeds(0), 1)) == 1


def test_participants_do_not_depend_on_their_order():
    turned = NAMES[::-1]
    assert draw_participants(turned, 0.5, Seeds(0), 3) == draw_participants(NAMES, 0.5, Seeds(0), 3)


def test_without_a_chance_to_fail_everybody_stays():
    assert presence(0.0).all()


def test_about_the_given_share_fails_when_everybody_is_alone():
    alone = Placement.two_tiers([3] * len(NAMES))
    failed = [~presence(0.3, number, placement=alone)[-1] for number in range(300)]
    assert 0.27 < np.mean(failed) < 0.33


@given(st.integers(0, 10**6), st.floats(0.1, 0.99), st.integers(1, 5))
def test_nobody_comes_back_groups_go_with_their_aggregator_and_somebody_starts(seed, p, epochs):
    present = presence(p, epochs=epochs, seed=seed)
    assert present.shape == (epochs, len(NAMES))
    assert present[0].any()
    assert not (present[1:] & ~present[:-1]).any()
    assert not (present & ~present[:, GROUPS.aggregator_of]).any()


def test_who_fails_does_not_depend_on_who_else_takes_part():
    alone = presence(0.5, placement=Placement.two_tiers([3] * 10))
    some = [1, 4, 7]
    fewer = presence(0.5, placement=Placement.two_tiers([3] * 3), names=[NAMES[n] for n in some])
    np.testing.assert_array_equal(alone[:, some], fewer)


def test_if_everybody_fails_at_once_the_first_aggregator_starts_alone():
    number = next(n for n in range(10**4) if presence(0.999, n, epochs=1).sum() == 1)
    assert presence(0.999, number, epochs=1)[0, 0]
