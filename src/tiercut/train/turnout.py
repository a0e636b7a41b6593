"""Who takes part in a round, and who fails in it.

Every draw is from a stream of its own, so that who fails does not depend on who else takes part.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tiercut.cost import Placement
from tiercut.seeds import Seeds
from tiercut.train.events import share_of


def draw_participants(
    names: Sequence[str], share: float, seeds: Seeds, number: int
) -> frozenset[str]:
    """Those of `names` that take part in round `number`: their share, rounded up."""
    if share == 1:
        return frozenset(names)
    order = seeds.stream("participation", number).permutation(len(names))
    by_name = sorted(names)
    return frozenset(by_name[n] for n in order[: share_of(share, len(names))])


def draw_presence(
    names: Sequence[str],
    placement: Placement,
    epochs: int,
    chance: float,
    seeds: Seeds,
    number: int,
) -> NDArray[np.bool_]:
    """Who is there in each epoch of round `number`: [epochs, clients].

    A client fails at the start of an epoch with its chance, and an aggregator takes its group with
    it. Somebody always starts: if nobody else does, the first aggregator by name.
    """
    until = [_failure(name, epochs, chance, seeds, number) for name in names]
    served_until = np.minimum(until, np.array(until)[placement.aggregator_of])
    present: NDArray[np.bool_] = np.arange(epochs)[:, None] < served_until
    if not present[0].any():
        present[0, min(placement.aggregators, key=lambda k: names[k])] = True
    return present


def _failure(name: str, epochs: int, chance: float, seeds: Seeds, number: int) -> int:
    """The epoch at whose start a client fails, or the number of epochs where it does not."""
    if chance == 0:
        return epochs
    stream = seeds.stream("failure", number, name)
    return int(stream.integers(epochs)) if stream.random() < chance else epochs
