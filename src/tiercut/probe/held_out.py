"""Who tries the cuts, and the examples on which they are measured; never those of the test set."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tiercut.data import Dataset, Split
from tiercut.errors import InputError
from tiercut.seeds import Seeds

Ints = NDArray[np.int64]

FEWEST = 100
"""Fewer examples than this say too little; then clients give some of theirs."""
GIVEN_UP = 5
"""A client keeps at least four of five examples."""


def draw_clients(count: int, wanted: int, seeds: Seeds) -> Ints:
    """So many of `count` clients, in their order; all if there are fewer."""
    return np.sort(seeds.stream("probe", "clients").permutation(count)[:wanted])


def hold_out(
    data: Dataset, shards: Sequence[Ints], most: int, seeds: Seeds
) -> tuple[Split, list[Ints]]:
    """At most so many examples that no client trains on, and what the clients do train on.

    They are validation examples if the set has some, else training examples that none of these
    clients has. Where these are too few, the clients give up some of theirs.
    """
    stream = seeds.stream("probe", "held out")
    if data.valid is not None:
        return _draw(data.valid, np.arange(len(data.valid)), most, stream), list(shards)
    free = np.setdiff1d(np.arange(len(data.train)), np.concatenate(shards))
    wanted = min(most, FEWEST) - len(free)
    if wanted <= 0:
        return _draw(data.train, free, most, stream), list(shards)
    given = [give_up(shard, -(-wanted // len(shards)), stream) for shard in shards]
    free = np.concatenate([free, *given])
    if not len(free):
        raise InputError(
            f"the probe's clients have all {len(data.train)} training examples, one each, and no"
            f" example is left to measure on; take fewer clients with --clients"
        )
    return _draw(data.train, free, most, stream), list(map(without, shards, given))


def without(shard: Ints, given: Ints) -> Ints:
    """What a client keeps."""
    return shard[~np.isin(shard, given)]


def give_up(shard: Ints, wanted: int, stream: np.random.Generator) -> Ints:
    """Some of a client's examples, a fifth at most, but not its only one."""
    count = min(wanted, -(-len(shard) // GIVEN_UP), len(shard) - 1)
    return stream.permutation(shard)[:count]


def _draw(split: Split, rows: Ints, most: int, stream: np.random.Generator) -> Split:
    chosen = np.sort(stream.permutation(rows)[:most])
    return Split(split.images[chosen], split.labels[chosen])
