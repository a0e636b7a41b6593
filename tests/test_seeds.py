"""Seeds: streams depend on the root and their name, and on nothing else."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiercut.errors import InputError
from tiercut.seeds import Seeds

relaxed = settings(deadline=None)
roots = st.integers(0, 2**70)
names = st.lists(st.text(max_size=5) | st.integers(-5, 1000), max_size=3).map(tuple)


def draws(seeds, *name):
    return seeds.stream(*name).integers(0, 2**62, 8).tolist()


@given(root=roots, name=names)
@relaxed
def test_the_same_seed_and_name_give_the_same_draws(root, name):
    assert draws(Seeds(root), *name) == draws(Seeds(root), *name)
    assert Seeds(root).integer(*name) == Seeds(root).integer(*name)


@given(root=roots, first=names, second=names)
@relaxed
def test_different_names_give_different_streams(root, first, second):
    same = first == second
    assert (draws(Seeds(root), *first) == draws(Seeds(root), *second)) == same
    assert (Seeds(root).integer(*first) == Seeds(root).integer(*second)) == same


@given(roots=st.tuples(roots, roots), name=names)
@relaxed
def test_different_seeds_give_different_streams(roots, name):
    first, second = (Seeds(root) for root in roots)
    assert (draws(first, *name) == draws(second, *name)) == (first == second)


def test_a_stream_does_not_depend_on_other_streams():
    seeds = Seeds(7)
    before = draws(seeds, "partition", 3)
    seeds.stream("partition", 2).random(1000)
    seeds.stream("something new").random(1000)
    assert draws(seeds, "partition", 3) == before


def test_asking_twice_starts_the_stream_again():
    seeds = Seeds(7)
    stream = seeds.stream("a")
    first = stream.random()
    assert stream.random() != first
    assert seeds.stream("a").random() == first


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((1,), ("1",)),
        (("ab",), ("a", "b")),
        (("a", ""), ("a",)),
        (("a, b",), ("a", "b")),
        ((), ("",)),
        (("'a', 'b'",), ("a", "b")),
    ],
)
def test_names_that_look_alike_are_kept_apart(first, second):
    assert draws(Seeds(0), *first) != draws(Seeds(0), *second)


def test_the_root_does_not_run_into_the_name():
    assert draws(Seeds(1), 2) != draws(Seeds(12)) != draws(Seeds(0), 1, 2)


@given(root=roots, name=names)
@relaxed
def test_an_integer_fits_in_63_bits(root, name):
    assert 0 <= Seeds(root).integer(*name) < 2**63


def test_streams_look_uniform():
    means = [Seeds(root).stream("x", n).random(100).mean() for root in range(5) for n in range(20)]
    assert np.mean(means) == pytest.approx(0.5, abs=0.02)


def test_the_streams_of_version_0_1_stay_what_they_are():
    """Old results must be had again from their seed: changing these numbers breaks them all."""
    assert Seeds(0).integer("fleet", 7) == 1030787457919287845
    assert Seeds(42).stream("partition", 3).integers(0, 1000, 4).tolist() == [980, 825, 135, 712]


@pytest.mark.parametrize("root", [-1, 1.0, True, False, "1", None])
def test_a_seed_that_no_file_could_hold_is_refused(root):
    with pytest.raises(InputError, match="expected a whole number from 0 upwards"):
        Seeds(root)
