"""Why this machine cannot emulate a network; found by trying."""

from __future__ import annotations

import numpy as np

from tiercut.errors import TiercutError
from tiercut.fleet import Access, Between, Fleet
from tiercut.net.emulate.network import EmulatedNetwork


def obstacle(*, shared: bool = False) -> str | None:
    """What is in the way, as a sentence with the remedy; none where hosts can be emulated.

    `shared`: one radio per client, which asks more of the kernel than independent links do.
    """
    try:
        with EmulatedNetwork(_pair(shared=shared)) as network:
            network.cut(*network.clients)
    except TiercutError as problem:
        return str(problem)
    return None


def _pair(*, shared: bool) -> Fleet:
    """The smallest fleet with all kinds of links."""
    rate = np.full(2, 1e6)
    links = Access(rate) if shared else Between(np.full((2, 2), 1e6))
    return Fleet(("a", "b"), rate, np.ones(2, dtype=np.int64), 1e6, rate, links)
