"""One client's copy of some layers, on whichever node hosts them, with their optimisers.

An optimiser belongs to one layer, so that its state stays with the layer when the layers that a
node hosts change. A layer that comes from another node starts with a new one: weights travel
between rounds, optimiser state never does.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor, nn

from tiercut.engines.dropout import ClientMasks, stream_dropout
from tiercut.engines.optimiser import Optimiser


class Replica:
    """Layers by name, in order."""

    def __init__(self, optimiser: Optimiser) -> None:
        self.layers: dict[str, nn.Module] = {}
        self.optimisers: dict[str, torch.optim.Optimizer] = {}
        self._optimiser = optimiser
        self._masks = ClientMasks(torch.tensor(0), torch.tensor(0))

    def draw_as(self, key: int) -> None:
        """Drop what the client with this key drops."""
        self._masks.client = torch.tensor(key)

    def assign(self, prototypes: Mapping[str, nn.Module]) -> None:
        """Hold these layers and no others; those that were here before keep their optimisers."""
        for name in self.layers.keys() - prototypes.keys():
            del self.layers[name], self.optimisers[name]
        for name in prototypes.keys() - self.layers.keys():
            layer = copy.deepcopy(prototypes[name])
            holder = nn.ModuleDict({name: layer})  # so that dropout knows the layer's name
            stream_dropout(holder, self._masks)
            self.layers[name] = holder[name].train()
            self.optimisers[name] = self._optimiser.build(list(layer.parameters()) or [_nothing()])
        self.layers = {name: self.layers[name] for name in prototypes}

    def load(self, weights: Mapping[str, Mapping[str, Tensor]]) -> None:
        """Take the weights of those layers that are here."""
        for name, layer in self.layers.items():
            if name in weights:
                layer.load_state_dict(weights[name])

    def weights(self) -> dict[str, dict[str, Tensor]]:
        """The weights and buffers of every layer, as copies."""
        return {
            name: {key: value.clone() for key, value in layer.state_dict().items()}
            for name, layer in self.layers.items()
        }

    def forward(self, inputs: Tensor, step: int, *, head: str | None = None) -> Tensor:
        """Run the layers, all but `head`; the input is kept for `input_gradient`."""
        self._masks.step = torch.tensor(step)
        self._inputs = inputs.detach().requires_grad_(inputs.is_floating_point())
        values = self._inputs
        for name, layer in self.layers.items():
            values = values if name == head else layer(values)
        return values

    @property
    def input_gradient(self) -> Tensor:
        """The gradient at the last input."""
        assert self._inputs.grad is not None
        return self._inputs.grad

    def update(self) -> None:
        """One step of every optimiser on the gradients that are there."""
        for optimiser in self.optimisers.values():
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)

    def moments(self) -> Iterator[tuple[str, Tensor]]:
        """The state of every optimiser, by layer, parameter and name."""
        for layer, optimiser in self.optimisers.items():
            for number, state in optimiser.state_dict()["state"].items():
                for name, value in state.items():
                    if value is not None:
                        yield f"{layer}/{number}/{name}", value

    def load_moment(self, layer: str, number: int, name: str, value: Tensor) -> None:
        """Put one piece of an optimiser's state back."""
        optimiser = self.optimisers[layer]
        optimiser.state[optimiser.param_groups[0]["params"][number]][name] = value.clone()


def _nothing() -> nn.Parameter:
    """An optimiser needs a parameter; layers such as pooling have none."""
    return nn.Parameter(torch.empty(0))
