"""Partitions: nobody shares an example, sizes are kept, and the skew is the one asked for."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tiercut.data import label_counts, partition
from tiercut.data.partition import skew
from tiercut.errors import InputError
from tiercut.scenario import DataSection
from tiercut.seeds import Seeds

relaxed = settings(deadline=None)
KINDS = ("iid", "dirichlet", "shards", "quantity")
BALANCED = np.repeat(np.arange(10), 1000)

label_lists = st.lists(st.integers(0, 6), min_size=12, max_size=200).map(np.array)
alphas = st.sampled_from([1e-300, 1e-3, 0.1, 0.5, 5.0, 1e3, 1e300])


@st.composite
def problems(draw):
    """Labels, and sizes whose sum is at most their number, often just that."""
    labels = draw(label_lists)
    count = draw(st.integers(1, 12))
    ends = st.lists(st.integers(0, len(labels) - count), min_size=count, max_size=count)
    cuts = sorted(draw(ends))
    if draw(st.booleans()):
        cuts[-1] = len(labels) - count
    return labels, (1 + np.diff(cuts, prepend=0)).tolist()


def deal(labels, sizes, kind, seed=0, **options):
    return partition(labels, sizes, DataSection(partition=kind, **options), Seeds(seed))


def counts_of(labels, sizes, kind, **options):
    return label_counts(labels, deal(labels, sizes, kind, **options), labels.max() + 1)


@pytest.mark.parametrize("kind", KINDS)
@given(problem=problems(), alpha=alphas, seed=st.integers(0, 2**40))
@relaxed
def test_nobody_shares_an_example_and_nobody_has_none(kind, problem, alpha, seed):
    labels, sizes = problem
    assume(kind != "quantity" or sum(sizes) >= 2 * len(sizes))
    assume(kind != "shards" or len(sizes) >= len(np.unique(labels)))
    parts = deal(labels, sizes, kind, seed, alpha=alpha, shards=1)
    together = np.concatenate(parts)
    assert len(np.unique(together)) == len(together) == sum(sizes)
    assert together.dtype == np.int64
    assert together.min() >= 0
    assert together.max() < len(labels)
    assert len(parts) == len(sizes)
    assert min(map(len, parts)) >= (2 if kind == "quantity" else 1)
    if kind in ("iid", "dirichlet"):
        assert [len(part) for part in parts] == sizes


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_partition(kind):
    def dealt(seed):
        return [part.tolist() for part in deal(BALANCED, [200] * 20, kind, seed)]

    assert dealt(3) == dealt(3)
    assert dealt(3) != dealt(4)


@given(problem=problems())
@relaxed
def test_labels_are_counted(problem):
    labels, sizes = problem
    parts = deal(labels, sizes, "iid")
    counts = label_counts(labels, parts, 8)
    assert counts.tolist() == [np.bincount(labels[part], minlength=8).tolist() for part in parts]


# ------------------------------------------------------------------------------------ label skew


def test_skew_runs_from_none_to_all():
    assert skew(np.array([[5, 5], [1, 1]])) == 0
    assert skew(np.array([[5, 0], [0, 5]])) == 0.5
    assert skew(np.eye(100, dtype=np.int64)) == pytest.approx(0.99)


def test_the_smaller_alpha_the_larger_the_skew():
    sizes = [100] * 50
    skews = [skew(counts_of(BALANCED, sizes, "dirichlet", alpha=a)) for a in (1e-3, 0.1, 1, 100)]
    assert skews == sorted(skews, reverse=True)
    assert skews[0] > 0.85


def test_a_large_alpha_is_close_to_iid():
    sizes = [100] * 50
    iid = skew(counts_of(BALANCED, sizes, "iid"))
    assert skew(counts_of(BALANCED, sizes, "dirichlet", alpha=1e6)) == pytest.approx(iid, rel=0.1)


def test_mixes_have_the_spread_of_their_distribution():
    """A share of one of K classes has the variance (K - 1) / (K^2 (K alpha + 1))."""
    labels = np.repeat(np.arange(10), 20_000)
    shares = counts_of(labels, [100] * 500, "dirichlet", alpha=0.5) / 100
    sampling = 0.1 * 0.9 / 100 * (1 - 1 / 6)
    assert shares.mean(axis=0) == pytest.approx(0.1, abs=0.02)
    assert shares.var() == pytest.approx(9 / 100 / 6 + sampling, rel=0.1)


def test_mixes_follow_the_classes_of_the_whole():
    labels = np.repeat([0, 1, 3], [9000, 900, 100])
    shares = counts_of(labels, [10] * 100, "dirichlet", alpha=5.0).sum(axis=0) / 1000
    assert shares == pytest.approx([0.9, 0.09, 0, 0.01], abs=0.03)


def test_when_a_class_runs_out_the_rest_of_the_mix_is_used():
    labels = np.repeat([0, 1], [10, 990])
    counts = counts_of(labels, [100] * 10, "dirichlet", alpha=1e3)
    assert counts.sum(axis=0).tolist() == [10, 990]
    assert counts.sum(axis=1).tolist() == [100] * 10


# ---------------------------------------------------------------------------------------- shards


@given(problem=problems(), shards=st.integers(1, 4))
@relaxed
def test_a_client_has_no_more_labels_than_shards(problem, shards):
    labels, sizes = problem
    present = len(np.unique(labels))
    assume(present <= len(sizes) * shards <= sum(sizes))
    counts = counts_of(labels, sizes, "shards", shards=shards)
    assert (np.count_nonzero(counts, axis=1) <= shards).all()
    assert counts.sum() == sum(sizes)


def test_balanced_labels_give_equal_shards():
    counts = counts_of(BALANCED, [100] * 100, "shards", shards=2)
    assert set(counts.ravel().tolist()) == {0, 50, 100}
    assert counts.sum(axis=1).tolist() == [100] * 100


def test_fewer_shards_than_labels_take_the_largest_labels():
    labels = np.repeat([0, 1, 2], [100, 10, 100])
    counts = counts_of(labels, [50, 50], "shards", shards=1)
    assert sorted(counts.tolist()) == [[0, 0, 50], [50, 0, 0]]
    with pytest.raises(InputError, match="reach 200 examples and the clients want 202"):
        deal(labels, [101, 101], "shards", shards=1)


# -------------------------------------------------------------------------------------- quantity


def test_quantities_are_skewed_and_labels_are_not():
    counts = counts_of(BALANCED, [100] * 50, "quantity", alpha=0.5)
    sizes = counts.sum(axis=1)
    assert sizes.sum() == 5000
    assert sizes.min() >= 2
    assert sizes.std() > 50
    even = counts_of(BALANCED, [100] * 50, "quantity", alpha=1e6).sum(axis=1)
    assert even.std() < 2


# -------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("sizes", "options", "sentence"),
    [
        ([5000, 5001], {}, "want 10,001 examples and the training set has 10,000; lower"),
        ([2**62] * 4, {}, "fewer clients"),
        ([], {}, "at least one client"),
        ([3, 0], {}, "one example each"),
        ([1, 1, 1], {"partition": "quantity"}, "too few to skew over 3 clients"),
        ([1, 1, 1], {"partition": "shards"}, "cannot be cut into 6 shards; lower shards"),
    ],
)
def test_what_cannot_be_dealt_is_refused(sizes, options, sentence):
    with pytest.raises(InputError, match=sentence):
        partition(BALANCED, sizes, DataSection(**options), Seeds(0))
