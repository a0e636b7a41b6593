"""Whole numbers in given proportions: the rule of the largest remainder, with limits."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def apportion(total: int, weights: ArrayLike, limits: ArrayLike) -> NDArray[np.int64]:
    """`total` as a sum of whole numbers, about proportional to `weights`, none above its limit.

    What a limit keeps from one entry goes to the others in proportion. The limits must leave room
    for `total`; entries of weight 0 get something only when all others are full.
    """
    most = np.asarray(limits, dtype=np.int64)
    share = np.asarray(weights, dtype=np.float64)
    given = np.zeros_like(most)
    while (left := total - int(given.sum())) > 0:
        room = most - given
        open_share = np.where(room > 0, share, 0.0)
        if open_share.sum() <= 0:
            open_share = room.astype(np.float64)
        quota = left * (open_share / open_share.sum())
        whole = np.floor(quota).astype(np.int64)
        given += np.minimum(whole, room)
        if (whole <= room).all():  # else what the limits keep back is shared out anew
            remainder = np.where((open_share > 0) & (given < most), quota - whole, -1.0)
            first = np.argsort(-remainder, kind="stable")[: total - int(given.sum())]
            given[first[remainder[first] >= 0]] += 1
    return given
