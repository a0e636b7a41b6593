"""Holding out test examples where a set has none of its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tiercut.data.apportion import apportion
from tiercut.data.dataset import Images, Labels, Split
from tiercut.seeds import Seeds

TEST_SHARE = 0.2
SPLIT_SEEDS = Seeds(0)
"""Not the run's seed: runs with other seeds are tested on the same examples."""


def hold_out(images: Images, labels: Labels, name: str) -> tuple[Split, Split]:
    """Training and test examples, a fifth of each class held out; the same for the same name."""
    test = held_out(labels, name)
    return (
        Split(images[~test], labels[~test]),
        Split(images[test], labels[test]),
    )


def held_out(labels: Labels, name: str) -> NDArray[np.bool_]:
    """Which examples are held out; every class keeps one to train on."""
    counts = np.bincount(labels)
    wanted = -int(-len(labels) * TEST_SHARE // 1)
    limits = np.maximum(counts - 1, 0)
    from_class = apportion(min(wanted, int(limits.sum())), counts, limits)
    stream = SPLIT_SEEDS.stream("hold out", name)
    chosen = np.zeros(len(labels), dtype=bool)
    for label, count in enumerate(from_class.tolist()):
        members = np.flatnonzero(labels == label)
        chosen[stream.permutation(members)[:count]] = True
    return chosen
