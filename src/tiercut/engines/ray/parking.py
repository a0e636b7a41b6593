"""Moments of clients that are on no worker: an object in the store for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tiercut.engines.ray.crew import Cluster, Ref
from tiercut.engines.ray.packing import Ints
from tiercut.engines.ray.parcel import Parcel
from tiercut.engines.task import State

MOMENT = "moment/"
"""How a state calls moments."""


class Parking:
    """Where each client's moments are; who never trained has none."""

    def __init__(self, store: Cluster) -> None:
        self._store = store
        self._refs: dict[int, Ref] = {}

    def take_in(self, clients: Ints, moments: Sequence[Ref]) -> None:
        """Moments that came off a worker."""
        self._refs |= dict(zip(clients.tolist(), moments, strict=True))

    def find(self, clients: Ints, sources: Mapping[str, Ints]) -> tuple[list[Ref], dict[str, Ints]]:
        """The moments that clients go on with, and which of them each needs in a layer, or -1."""
        wanted = np.unique([source[clients] for source in sources.values()])
        known = [n for n in wanted.tolist() if n in self._refs]
        place = {n: index for index, n in enumerate(known)}
        chosen = {
            layer: np.array([place.get(n, -1) for n in source[clients].tolist()])
            for layer, source in sources.items()
        }
        return [self._refs[n] for n in known], chosen

    def let_go(self, clients: Ints) -> None:
        """These train now, and what is here of them grows old."""
        for client in clients.tolist():
            self._refs.pop(client, None)

    def to_state(self, empty: State, clients: int) -> State:
        """All moments, one entry per client; `empty` has those of nobody."""
        state = {
            name: values.new_zeros((clients, *values.shape[1:]))
            for name, values in empty.items()
            if name.startswith(MOMENT)
        }
        for client, ref in self._refs.items():
            for name, value in self._store.get(ref).items():
                state[name][client] = value
        return state

    def load_state(self, state: State, trained: Ints) -> None:
        """Park what a state has of those who have trained."""
        moments = {name: values for name, values in state.items() if name.startswith(MOMENT)}
        self._refs = {
            n: self._store.put(Parcel({name: values[n] for name, values in moments.items()}))
            for n in trained.tolist()
        }
