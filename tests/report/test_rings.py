"""Places on rings: as many as asked for, and nothing touches."""

import math
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from tiercut.report.rings import CENTRE, fill_rings, stand_around

GAP = 5.0
CORE = 20.0


@given(st.integers(0, 80), st.floats(0, 6))
def test_places_on_rings_keep_their_distance(number, facing):
    places = fill_rings(number, 10.0, facing)
    assert len(places) == number
    assert all(math.dist(a, b) >= 10 - 1e-6 for a, b in combinations([CENTRE, *places], 2))


@given(st.lists(st.floats(5, 60), min_size=1, max_size=40))
def test_discs_touch_neither_the_core_nor_one_another(radii):
    radii = sorted(radii)
    discs = list(zip(stand_around(radii, CORE, GAP), radii, strict=True))
    for (place, radius), (other, other_radius) in combinations([(CENTRE, CORE), *discs], 2):
        assert math.dist(place, other) >= radius + other_radius - 1e-6
