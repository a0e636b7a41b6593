"""Batches come from the seed alone, cover each client's data, and agree in all their forms."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.engines.instances import RAGGED, task
from tiercut.engines.feed import Feed, batch_sizes


def feed(work, epoch=0):
    made = Feed(work, torch.device("cpu"), torch.float64)
    made.start_epoch(epoch)
    return made


@given(st.integers(1, 300), st.integers(1, 40))
def test_batch_sizes_use_all_but_a_single_left_over(examples, batch):
    sizes = batch_sizes(examples, batch)
    assert sizes
    assert sum(sizes) in (examples, examples - 1)
    assert batch == 1 or examples == 1 or min(sizes) > 1
    assert all(size == batch for size in sizes[:-1])


@given(st.integers(1, 300), st.integers(1, 40), st.integers(1, 7))
def test_portions_have_the_batches_of_as_many_fewer_samples(examples, batch, portions):
    sizes = batch_sizes(examples, batch, portions)
    assert sizes == (batch_sizes(examples // portions, batch) if examples >= portions else [])


@pytest.mark.parametrize("portions", [1, 2, 3])
def test_portions_of_a_shuffle_share_no_sample(portions):
    work = replace(task(sizes=(24, 13, 9), batch=4), portions=portions)
    for n, shard in enumerate(work.shards):
        seen = []
        for epoch in range(2 * portions, 3 * portions):
            made = feed(work, epoch)
            seen += made._rows[n, : made.sizes[n].sum()].tolist()
        assert len(set(seen)) == len(seen)
        assert set(seen) <= set(shard.tolist())
        assert len(shard) - len(seen) <= (portions - 1) + portions  # uneven, and single samples
        other = feed(work, 3 * portions)
        assert other._rows[n, : other.sizes[n].sum()].tolist() != seen[: other.sizes[n].sum()]


def test_an_epoch_shows_every_sample_once():
    work = task()
    made = feed(work)
    for n, size in enumerate(RAGGED):
        batches = [made.one(n, b)[1] for b in range(made.batches) if made.sizes[n, b]]
        labels = np.sort(torch.cat(batches).numpy())
        own = np.sort(work.examples.labels[work.shards[n]])
        assert len(labels) == sum(batch_sizes(size, 4))
        assert np.isin(labels, own).all()


@pytest.mark.parametrize("augment", [False, True])
def test_one_all_and_at_agree(augment):
    made = feed(replace(task(), augment=augment), epoch=3)
    rows = torch.tensor([2, 0])
    for batch in range(made.batches):
        images, labels = made.all(rows, batch)
        for row, client in enumerate(rows.tolist()):
            size = int(made.sizes[client, batch])
            alone = made.one(client, batch)
            assert torch.equal(images[row, :size], alone[0])
            assert torch.equal(labels[row, :size], alone[1])
            for ours, theirs in zip(made.at(client, torch.tensor(batch), size), alone, strict=True):
                assert torch.equal(ours, theirs)


def test_epochs_and_clients_are_shuffled_apart():
    work = task(sizes=(8, 8), batch=8)
    first, second = feed(work, 0), feed(work, 1)
    assert not torch.equal(first.one(0, 0)[0], second.one(0, 0)[0])
    assert torch.equal(first.one(0, 0)[0], feed(work, 0).one(0, 0)[0])


def test_samples_are_normalised():
    work = task(sizes=(12,), batch=12)
    images, _ = feed(work).one(0, 0)
    raw = work.examples.images[work.shards[0]] / 255
    expected = (raw - np.array([0.5, 0.4]).reshape(2, 1, 1)) / np.array([0.3, 0.2]).reshape(2, 1, 1)
    assert np.allclose(np.sort(images.numpy().ravel()), np.sort(expected.ravel()))
