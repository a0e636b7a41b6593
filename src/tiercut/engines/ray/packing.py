"""Which worker gets which clients: whole groups, about as much work for each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def pack(clients: Ints, groups: Ints, work: Ints, population: int, workers: int) -> list[Ints]:
    """The clients of every worker, in order; `groups` has the number of each one's aggregator.

    Heavy groups go first. A group goes home, which follows from its number, unless that gives the
    worker more than its share; then to whoever has least. So a group mostly finds its state where
    it is, and who gets what depends on nothing but the round: a run that is resumed packs alike.
    """
    numbers, group = np.unique(groups, return_inverse=True)
    weight = np.bincount(group, weights=work)
    share = max(weight.sum() / workers, weight.max())
    loads = np.zeros(workers)
    worker_of = np.empty(len(numbers), dtype=np.int64)
    for n in np.lexsort((numbers, -weight)).tolist():
        home = int(numbers[n]) * workers // population
        chosen = home if loads[home] + weight[n] <= share else int(np.argmin(loads))
        loads[chosen] += weight[n]
        worker_of[n] = chosen
    return [np.sort(clients[worker_of[group] == worker]) for worker in range(workers)]
