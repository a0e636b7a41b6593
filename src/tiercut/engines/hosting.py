"""Where the layers of each client were trained last: optimiser state stays there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from tiercut.engines.task import State
from tiercut.engines.tiers import Ints, Tiers


class Hosting:
    """Who held each layer of each client, from round to round."""

    def __init__(self, clients: int) -> None:
        self.hosts: dict[str, Ints] = {}
        """By layer, when each client last took part; -1 is nobody."""
        self._recent = np.full(clients, -1)
        """The epoch in which each client last trained."""

    def note_epoch(self, number: int, present: NDArray[np.bool_]) -> None:
        """Remember who trained in epoch number `number` of the whole training."""
        self._recent[present] = number

    def move(self, tiers: Tiers, layers: Iterable[str]) -> Iterator[tuple[str, Ints]]:
        """Take a round's places: whose state every client goes on with in each layer, or -1.

        A layer that moved to another host starts afresh. A host that has one model for all its
        clients has one state: the one that was trained last.
        """
        clients = tiers.rows[: tiers.taking_part]
        everybody = np.arange(len(self._recent))
        for layer in layers:
            before = self.hosts.get(layer, np.full(len(everybody), -1))
            now = before.copy()
            now[clients] = tiers.hosts(layer)
            source = np.where(now == before, everybody, -1)
            for host in tiers.sharing_hosts(now):
                those = np.flatnonzero(before == host)
                if len(those):
                    last = self._recent[those].max()
                    # Whoever trained in that epoch has the one state, and need not be given it.
                    has = (before == host) & (self._recent == last)
                    source[(now == host) & ~has] = those[np.argmax(self._recent[those])]
            self.hosts[layer] = now
            yield layer, source

    def to_state(self) -> State:
        """Everything that the next round depends on."""
        state = {"recent": torch.from_numpy(self._recent)}
        for layer, hosts in self.hosts.items():
            state[f"hosts/{layer}"] = torch.from_numpy(hosts)
        return state

    def load_state(self, state: State) -> None:
        """Go on from a saved state."""
        self._recent = state["recent"].numpy().copy()
        for key in (key for key in state if key.startswith("hosts/")):
            self.hosts[key.removeprefix("hosts/")] = state[key].numpy().copy()
