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
        self._given: dict[str, dict[int, Ref]] = {}
        """By layer and client: the moments of somebody else that it goes on with there."""

    def take_in(self, clients: Ints, moments: Sequence[Ref]) -> None:
        """Moments that came off a worker."""
        self._refs |= dict(zip(clients.tolist(), moments, strict=True))

    def find(self, clients: Ints, sources: Mapping[str, Ints]) -> tuple[list[Ref], dict[str, Ints]]:
        """The moments that clients go on with, and which of them each needs in a layer, or -1."""
        found: dict[int, tuple[int, Ref]] = {}
        chosen: dict[str, Ints] = {}
        for layer, source in sources.items():
            refs = [self._of(layer, n) for n in source[clients].tolist()]
            for ref in refs:
                if ref is not None:
                    found.setdefault(id(ref), (len(found), ref))
            chosen[layer] = np.array([-1 if ref is None else found[id(ref)][0] for ref in refs])
        return [ref for _, ref in found.values()], chosen

    def _of(self, layer: str, client: int) -> Ref | None:
        own = self._refs.get(client)
        return self._given.get(layer, {}).get(client, own)

    def share(self, sources: Mapping[str, Ints]) -> None:
        """Give who is here what others trained, in layers of which a host has one model for all.

        Only what the host knows last counts, should those who trained it leave.
        """
        for layer, source in sources.items():
            others = np.flatnonzero((source != np.arange(len(source))) & (source >= 0)).tolist()
            new = {n: self._of(layer, int(source[n])) for n in others if n in self._refs}
            given = self._given.setdefault(layer, {})
            given |= {n: ref for n, ref in new.items() if ref is not None}

    def let_go(self, clients: Ints) -> None:
        """These train now, and what is here of them grows old."""
        for client in clients.tolist():
            self._refs.pop(client, None)
            for given in self._given.values():
                given.pop(client, None)

    def to_state(self, empty: State, clients: int, layer_of: Mapping[str, str]) -> State:
        """All moments, one entry per client; `empty` has those of nobody."""
        state = {
            name: values.new_zeros((clients, *values.shape[1:]))
            for name, values in empty.items()
            if name.startswith(MOMENT)
        }
        for client, ref in self._refs.items():
            for name, value in self._store.get(ref).items():
                state[name][client] = value
        layers = {name: layer_of[name.split("/", 2)[2]] for name in state}
        for layer, given in self._given.items():
            for client, ref in given.items():
                for name, value in self._store.get(ref).items():
                    if layers[name] == layer:
                        state[name][client] = value
        return state

    def load_state(self, state: State, trained: Ints) -> None:
        """Park what a state has of those who have trained."""
        moments = {name: values for name, values in state.items() if name.startswith(MOMENT)}
        self._given = {}
        self._refs = {
            n: self._store.put(Parcel({name: values[n] for name, values in moments.items()}))
            for n in trained.tolist()
        }
