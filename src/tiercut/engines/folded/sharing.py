"""Layers that several clients train as one model: one gradient, one step, one set of statistics.

Clients in one group of a layer are on one host; they may be in several steps, since a host may
serve clients of several cuts. A group's gradient is the mean over all its samples of the batch;
everybody in it takes the same step, also those who have no samples left. Groups are fixed, sizes
are not, so that a captured step serves every batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce

import torch
from torch import Tensor

from tiercut.engines.folded.update import Models

Parts = Mapping[int, Tensor]
"""What each step that is concerned, by its number, has of one parameter or buffer: `[N, ...]`."""


class Sharing:
    """For every step and layer that it shares the group of each client, `[N]`.

    Groups of a layer are counted from 0, over all steps.
    """

    def __init__(self, groups: Sequence[Mapping[str, Tensor]]) -> None:
        self._group = {
            layer: {n: each[layer] for n, each in enumerate(groups) if layer in each}
            for layer in {layer: None for each in groups for layer in each}
        }
        self._members = {layer: _members(parts) for layer, parts in self._group.items()}
        self._models = {
            layer: {n: Models.of(group, len(self._members[layer])) for n, group in parts.items()}
            for layer, parts in self._group.items()
        }

    def covers(self, step: int, name: str) -> bool:
        """Whether a parameter or buffer belongs to a layer that clients of this step share."""
        return step in self._group.get(_layer(name), {})

    def prepare(self, sizes: Callable[[int, str], Tensor], dtype: torch.dtype) -> None:
        """Weigh every client by its samples in this batch, by step and layer."""
        self._shares: dict[str, dict[int, Tensor]] = {}
        self._moving: dict[str, dict[int, Tensor]] = {}
        for layer, group in self._group.items():
            here = [sizes(n, layer) for n in group]
            weights = self._members[layer] * torch.cat(here).to(dtype)
            total = weights.sum(1, keepdim=True)
            shares = (weights / total.clamp(min=1)).split([len(each) for each in here], dim=1)
            self._shares[layer] = dict(zip(group, shares, strict=True))
            samples = total.flatten().to(here[0].dtype)
            self._moving[layer] = {n: samples[numbers] for n, numbers in group.items()}

    def moving(self, step: int, name: str) -> Tensor:
        """Samples in the group of each client of a step, `[N]`: who has none stays as it is."""
        return self._moving[_layer(name)][step]

    def models(self, step: int, name: str) -> Models:
        """Which clients of a step are in which group."""
        return self._models[_layer(name)][step]

    def mean(self, name: str, parts: Parts) -> Tensor:
        """Every group's mean, weighted by samples, `[groups, ...]`.

        A group's clients must all be in `parts`; other groups' need not.
        """
        shares = self._shares[_layer(name)]
        sums = (shares[n].to(part.dtype) @ part.flatten(1) for n, part in parts.items())
        shape = next(iter(parts.values())).shape[1:]
        return reduce(torch.add, sums).view(-1, *shape)

    @torch.no_grad()
    def spread(self, name: str, parts: Parts) -> None:
        """Average statistics as each client left them; counters take the largest of the group."""
        counts = not next(iter(parts.values())).is_floating_point()
        found = self._largest(name, parts) if counts else self.mean(name, parts)
        for n, values in parts.items():
            mean = found[self._group[_layer(name)][n]]
            moving = self.moving(n, name).view(-1, *[1] * (values.dim() - 1)) > 0
            values.copy_(torch.where(moving, mean, values))

    def _largest(self, name: str, parts: Parts) -> Tensor:
        """Every group's maximum of counters."""
        group = self._group[_layer(name)]
        values = torch.cat([parts[n] if n in parts else torch.zeros_like(group[n]) for n in group])
        return torch.where(self._members[_layer(name)], values, 0).amax(1)


def _members(group: Parts) -> Tensor:
    """Who is in each group, `[groups, N]`, steps side by side."""
    numbers = torch.cat(list(group.values()))
    return numbers == torch.arange(int(numbers.max()) + 1, device=numbers.device).unsqueeze(1)


def _layer(name: str) -> str:
    return name.partition(".")[0]
