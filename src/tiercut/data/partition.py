"""Which client trains on which examples.

    iid        a random share of the whole
    dirichlet  every client its own mix of labels, drawn from a Dirichlet distribution
    shards     a few shards of one label each, as McMahan et al. deal them
    quantity   random shares of very different sizes

Examples are given out at most once. The sizes are the fleet's, except that `quantity` draws its own
and `shards` gives everybody about the same; their sum is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from tiercut.data.apportion import apportion
from tiercut.errors import InputError
from tiercut.scenario import DataSection
from tiercut.seeds import Seeds

Ints = NDArray[np.int64]
Floats = NDArray[np.floating]
Stream = np.random.Generator

FEWEST = 2
"""Examples that the poorest client gets when quantities are skewed."""
MOST_EXTREME = 1e9
"""Concentrations beyond this, or below its inverse, differ from it by less than a sample."""


def partition(
    labels: Ints, sizes: Sequence[int] | Ints, section: DataSection, seeds: Seeds
) -> list[Ints]:
    """The training examples of each client, in random order; `sizes` are their numbers."""
    wanted = np.asarray(sizes, dtype=np.int64)
    _check(labels, wanted)
    split = _METHODS[section.partition]
    return split(labels, wanted, section, seeds.stream("partition", section.partition))


def label_counts(labels: Ints, parts: Sequence[Ints], classes: int) -> Ints:
    """How many examples of each label each client has: [clients, classes]."""
    owners = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    cells = owners * classes + labels[np.concatenate(parts)]
    return np.bincount(cells, minlength=len(parts) * classes).reshape(len(parts), classes)


def skew(counts: Ints) -> float:
    """How far the clients' label mixes are from the whole's: 0 the same, towards 1 disjoint."""
    mixes = counts / counts.sum(axis=1, keepdims=True)
    whole = counts.sum(axis=0) / counts.sum()
    return float(np.abs(mixes - whole).sum(axis=1).mean() / 2)


def _check(labels: Ints, sizes: Ints) -> None:
    if len(sizes) == 0 or sizes.min() < 1:
        raise InputError("a client has no examples; expected at least one client, one example each")
    total = sum(sizes.tolist())  # not NumPy's sum, which overflows in silence
    if total > len(labels):
        raise InputError(
            f"the fleet's {len(sizes):,} clients want {total:,} examples and the training set has"
            f" {len(labels):,}; lower examples in [fleet], or take fewer clients"
        )


def _iid(labels: Ints, sizes: Ints, section: DataSection, stream: Stream) -> list[Ints]:
    chosen = stream.permutation(len(labels))[: sizes.sum()]
    return np.split(chosen, np.cumsum(sizes)[:-1])


def _quantity(labels: Ints, sizes: Ints, section: DataSection, stream: Stream) -> list[Ints]:
    total, clients = int(sizes.sum()), len(sizes)
    if total < FEWEST * clients:
        raise InputError(
            f"{total:,} examples are too few to skew over {clients:,} clients; expected at least"
            f" {FEWEST} for each, raise examples in [fleet]"
        )
    shares = _dirichlet(np.full(clients, section.alpha), stream)
    more = apportion(total - FEWEST * clients, shares, np.full(clients, total))
    return _iid(labels, FEWEST + more, section, stream)


def _label_skew(labels: Ints, sizes: Ints, section: DataSection, stream: Stream) -> list[Ints]:
    """Clients in random order draw their mixes, and fill up from what the others left."""
    available = np.bincount(labels)
    # With balanced classes, every class has the concentration alpha.
    concentration = section.alpha * available * (len(available) / len(labels))
    counts = np.zeros((len(sizes), len(available)), dtype=np.int64)
    left = available.copy()
    for client in stream.permutation(len(sizes)).tolist():
        counts[client] = _fill(int(sizes[client]), _dirichlet(concentration, stream), left, stream)
        left -= counts[client]
    return _deal(labels, counts, stream)


def _fill(size: int, mix: Floats, left: Ints, stream: Stream) -> Ints:
    """How many of each label `size` draws from `mix` take, where no label gives more than is left.

    What a label lacks is drawn from the mix of the other labels.
    """
    taken = np.zeros_like(left)
    while (missing := size - int(taken.sum())) > 0:
        room = left - taken
        weights = np.where(room > 0, mix, 0.0)
        if weights.sum() <= 0:
            weights = room.astype(np.float64)
        taken += np.minimum(stream.multinomial(missing, weights / weights.sum()), room)
    return taken


def _shards(labels: Ints, sizes: Ints, section: DataSection, stream: Stream) -> list[Ints]:
    """Shards of one label and nearly one size, dealt at random."""
    available = np.bincount(labels)
    pieces = _shards_per_label(available, int(sizes.sum()), len(sizes) * section.shards)
    room = np.where(pieces > 0, available - pieces, 0)
    drawn = pieces + apportion(int(sizes.sum() - pieces.sum()), pieces, room)
    owners = stream.permutation(np.repeat(np.arange(len(sizes)), section.shards))
    counts = np.zeros((len(sizes), len(pieces)), dtype=np.int64)
    shard_labels = np.repeat(np.arange(len(pieces)), pieces)
    np.add.at(counts, (owners, shard_labels), _equal_parts(drawn, pieces))
    return _deal(labels, counts, stream)


def _shards_per_label(available: Ints, total: int, shards: int) -> Ints:
    """How many of all shards are cut from each label: one at least, if there are enough."""
    if total < shards:
        raise InputError(
            f"{total:,} examples cannot be cut into {shards:,} shards; lower shards in [data], or"
            f" raise examples in [fleet]"
        )
    present = (available > 0).astype(np.int64)
    first = present if shards >= present.sum() else np.zeros_like(present)
    pieces = first + apportion(shards - int(first.sum()), available, available - first)
    reachable = int(available[pieces > 0].sum())
    if total > reachable:
        raise InputError(
            f"{shards:,} shards of one label each reach {reachable:,} examples and the clients want"
            f" {total:,}; raise shards in [data], or lower examples in [fleet]"
        )
    return pieces


def _equal_parts(totals: Ints, parts: Ints) -> Ints:
    """Each total cut into its number of parts, the first ones larger by one where need be."""
    position = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
    size, rest = np.divmod(totals, np.maximum(parts, 1))
    return np.repeat(size, parts) + (position < np.repeat(rest, parts))


def _deal(labels: Ints, counts: Ints, stream: Stream) -> list[Ints]:
    """Random examples such that each client has `counts` [clients, classes] of each label."""
    shuffled = stream.permutation(len(labels))
    by_label = shuffled[np.argsort(labels[shuffled], kind="stable")]
    start = np.cumsum(np.bincount(labels)) - np.bincount(labels)
    dealt = counts.sum(axis=0)
    within = np.arange(dealt.sum()) - np.repeat(np.cumsum(dealt) - dealt, dealt)
    examples = by_label[np.repeat(start, dealt) + within]
    clients = np.tile(np.arange(len(counts)), counts.shape[1])
    owners = np.repeat(clients, counts.T.ravel())
    order = stream.permutation(len(examples))
    order = order[np.argsort(owners[order], kind="stable")]
    return np.split(examples[order], np.cumsum(counts.sum(axis=1))[:-1])


def _dirichlet(concentration: Floats, stream: Stream) -> Floats:
    return stream.dirichlet(np.clip(concentration, 1 / MOST_EXTREME, MOST_EXTREME))


_METHODS: dict[str, Callable[[Ints, Ints, DataSection, Stream], list[Ints]]] = {
    "iid": _iid,
    "dirichlet": _label_skew,
    "shards": _shards,
    "quantity": _quantity,
}
