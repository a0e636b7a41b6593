"""Layers that several clients train as one model: one gradient, one step, one set of statistics.

Clients in one group of a layer are on one host. A group's gradient is the mean over all its samples
of the batch; everybody in it takes the same step, also those who have no samples left. Groups are
fixed, sizes are not, so that a captured step serves every batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor


class Sharing:
    """For every shared layer the group of each client, `[N]`, counted from 0."""

    def __init__(self, groups: Mapping[str, Tensor]) -> None:
        self._group = dict(groups)
        self._members = {
            layer: group == torch.arange(int(group.max()) + 1, device=group.device).unsqueeze(1)
            for layer, group in groups.items()
        }

    def covers(self, name: str) -> bool:
        """Whether a parameter or buffer belongs to a shared layer."""
        return _layer(name) in self._group

    def prepare(self, sizes: Tensor, dtype: torch.dtype) -> None:
        """Weigh every client by its samples in this batch."""
        self._shares, self._moving = {}, {}
        for layer, members in self._members.items():
            weights = members * sizes.to(dtype)
            total = weights.sum(1, keepdim=True)
            self._shares[layer] = weights / total.clamp(min=1)
            self._moving[layer] = total.flatten()[self._group[layer]].to(sizes.dtype)

    def moving(self, name: str) -> Tensor:
        """Samples in each client's group, `[N]`: who has none stays as it is."""
        return self._moving[_layer(name)]

    def mean(self, name: str, values: Tensor) -> Tensor:
        """Every client's group mean of `[N, ...]` values, weighted by samples."""
        layer = _layer(name)
        means = self._shares[layer].to(values.dtype) @ values.reshape(len(values), -1)
        return means[self._group[layer]].view(values.shape)

    @torch.no_grad()
    def spread(self, buffers: Iterable[tuple[str, Tensor]]) -> None:
        """Average statistics as each client left them; counters take the largest of the group."""
        for name, values in buffers:
            if values.is_floating_point():
                mean = self.mean(name, values)
            else:
                members = self._members[_layer(name)]
                mean = torch.where(members, values, 0).amax(1)[self._group[_layer(name)]]
            moving = self.moving(name).view(-1, *[1] * (values.dim() - 1)) > 0
            values.copy_(torch.where(moving, mean, values))


def _layer(name: str) -> str:
    return name.partition(".")[0]
