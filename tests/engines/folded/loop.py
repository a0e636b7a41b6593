"""The judge: a plain loop over clients, ordinary modules, ordinary optimisers, torch autograd."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn
from torch.nn import functional

from tiercut.engines.dropout import ClientMasks, stream_dropout
from tiercut.engines.folded import Chain
from tiercut.engines.optimiser import Optimiser


class Clients:
    """N replicas of a front with its head, and maybe of a back, each with its own optimiser."""

    def __init__(self, chains: list[nn.Sequential], count: int, optimiser: Optimiser, tap: int):
        self.count, self.tap = count, tap
        self.keys = torch.randint(0, 2**32, (count,))
        self.steps = torch.zeros(count, dtype=torch.int64)
        self.replicas = [
            [_fresh(chain).to(torch.float64) for chain in chains] for _ in range(count)
        ]
        self.optimisers = []
        for client, parts in enumerate(self.replicas):
            masks = ClientMasks(self.keys[client], self.steps[client])
            for part in parts:
                stream_dropout(part, masks)
            self.optimisers.append([optimiser.build(list(part.parameters())) for part in parts])

    def stacked(self, position: int, prototype: nn.Sequential, optimiser: Optimiser, dtype):
        """The same state as one chain's stacked tensors, copied."""
        parts = [replica[position] for replica in self.replicas]

        def stack(kind: str) -> dict[str, Tensor]:
            named = [dict(getattr(part, kind)()) for part in parts]
            stacks = {key: torch.stack([each[key].detach() for each in named]) for key in named[0]}
            return {
                key: value.to(dtype) if value.is_floating_point() else value
                for key, value in stacks.items()
            }

        parameters = stack("named_parameters")
        moments = {
            moment: {key: torch.zeros_like(value) for key, value in parameters.items()}
            for moment in optimiser.moments
        }
        steps = {key: torch.zeros(self.count, dtype=torch.int64) for key in parameters}
        return Chain(prototype, parameters, stack("named_buffers"), moments, steps)

    def train(self, images: Tensor, labels: Tensor, sizes: list[int]) -> Tensor:
        """One step on [N, B, ...]; the summed losses come back."""
        losses = torch.zeros(self.count, len(self.replicas[0]), dtype=torch.float64)
        for client, size in enumerate(sizes):
            if size == 0:
                continue
            values = images[client, :size]
            truth = labels[client, :size]
            for position, part in enumerate(self.replicas[client]):
                part.train()
                optimiser = self.optimisers[client][position]
                optimiser.zero_grad()
                tapped = None
                for index, layer in enumerate(part, start=1):
                    values = layer(values)
                    if index == self.tap and position == 0:
                        tapped = values.detach()
                loss = functional.cross_entropy(values, truth)
                losses[client, position] = loss.detach() * size
                loss.backward()
                optimiser.step()
                values = tapped
        for client, size in enumerate(sizes):
            self.steps[client] += size > 0
        return losses


def _fresh(chain: nn.Sequential) -> nn.Sequential:
    replica = copy.deepcopy(chain)
    for module in replica.modules():
        if module is not replica and hasattr(module, "reset_parameters"):
            module.reset_parameters()
        if isinstance(module, nn.BatchNorm2d):
            nn.init.normal_(module.weight, mean=1.0, std=0.2)
            nn.init.normal_(module.bias, std=0.2)
    return replica
