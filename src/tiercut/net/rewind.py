"""Optimiser state as it was at the start of a round, for a round that has to start again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor, nn

from tiercut.engines.nodes import Host

KEPT = 2
"""Rounds that can be started again: this one, and the last, which a server that was killed may not
have saved."""


class Rewind:
    """Knows the optimiser state of some hosts at the start of the last rounds."""

    def __init__(self, hosts: Sequence[Host], prototypes: Mapping[str, nn.Module]) -> None:
        self._hosts, self._prototypes = hosts, prototypes
        self._starts: dict[int, list[dict[str, Tensor]]] = {}

    def start(self, number: int) -> None:
        """Round `number` starts, maybe again."""
        if number in self._starts:
            self._restore(self._starts[number])
        elif self._starts and number < min(self._starts):
            self._restore([{} for _ in self._hosts])
        self._starts = {n: s for n, s in self._starts.items() if number - KEPT < n < number}
        self._starts[number] = [
            {key: value.clone() for key, value in host.moments()} for host in self._hosts
        ]

    def _restore(self, states: Sequence[Mapping[str, Tensor]]) -> None:
        for host, state in zip(self._hosts, states, strict=True):
            host.forget()
            for place, value in state.items():
                host.load_moment(place, value, self._prototypes)
