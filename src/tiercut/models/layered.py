"""A model is a sequence of named layers, and a cut is a slice of it. There is no other concept.

Layers count from 1 to L, as in the equations. Parts share the model's parameters: training a part
trains the model, and the parts put together are the model again.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

import torch
from torch import Tensor, nn

from tiercut.errors import InputError
from tiercut.models.heads import HeadKind


class LayeredModel(nn.Module):
    """A sequence of named layers that can be cut between any two of them.

    Attributes:
        name: what files and people call the model.
        input_shape: the shape of one sample, without the batch.
        head: the kind of auxiliary head that suits the model when nobody says otherwise.
        layers: the layers themselves; their state's keys are the same in the model and its parts.
        layer_names: the layers' names, in order.

    """

    def __init__(
        self,
        layers: Mapping[str, nn.Module] | Iterable[tuple[str, nn.Module]],
        *,
        name: str,
        input_shape: Sequence[int],
        head: HeadKind = "flat",
    ) -> None:
        super().__init__()
        named = list(layers.items() if isinstance(layers, Mapping) else layers)
        _refuse_repeated_names(name, named)
        _refuse_shared_parameters(name, named)
        self.name = name
        self.input_shape = checked_shape(name, input_shape)
        self.head: HeadKind = head
        self.layer_names = tuple(layer_name for layer_name, _ in named)
        self.layers = nn.Sequential(OrderedDict(named))
        _keep_inputs_intact(self.layers)

    @classmethod
    def from_modules(
        cls,
        modules: nn.Sequential | Sequence[nn.Module],
        *,
        name: str,
        input_shape: Sequence[int],
        head: HeadKind = "flat",
    ) -> LayeredModel:
        """Take `modules` as the layers; those without a name become layer1, layer2, ..."""
        sequence = modules if isinstance(modules, nn.Sequential) else nn.Sequential(*modules)
        # A sequence numbers what nobody named. Its named_children() would drop a repeated module.
        keys = sequence._modules
        named = [
            (f"layer{index}" if key.isdigit() else key, module)
            for index, (key, module) in enumerate(zip(keys, sequence, strict=True), start=1)
        ]
        return cls(named, name=name, input_shape=input_shape, head=head)

    @property
    def depth(self) -> int:
        """L, the number of layers."""
        return len(self.layer_names)

    def named_layers(self) -> Iterator[tuple[str, nn.Module]]:
        """Every layer with its name, in order."""
        return zip(self.layer_names, self.layers, strict=True)

    def forward(self, inputs: Tensor) -> Tensor:
        """Run all layers on a batch of samples."""
        outputs: Tensor = self.layers(inputs)
        return outputs

    def slice(self, first: int, last: int) -> nn.Sequential:
        """Take layers `first` to `last`, both included, sharing the model's parameters."""
        if not 1 <= first <= last <= self.depth:
            raise InputError(
                f"layers {first} to {last} are no part of {self.name}, whose layers count from 1 to"
                f" {self.depth}; choose 1 <= first <= last <= {self.depth}"
            )
        # Typed as any module, because an index that is no slice gives one.
        return cast(nn.Sequential, self.layers[first - 1 : last])

    def cut(self, h: int, v: int) -> tuple[nn.Sequential, nn.Sequential, nn.Sequential]:
        """Cut into the weak (1..h), the aggregator (h+1..v) and the server part (v+1..L)."""
        if not 1 <= h < v < self.depth:
            raise InputError(
                f"h = {h}, v = {v} does not cut the {self.depth} layers of {self.name} in three;"
                f" choose 1 <= h < v <= {self.depth - 1}"
            )
        return self.slice(1, h), self.slice(h + 1, v), self.slice(v + 1, self.depth)

    def random_input(self, batch: int) -> Tensor:
        """Draw a batch of noise that the model accepts, on the model's own device."""
        like = next(self.parameters(), torch.empty(0))
        return torch.randn(batch, *self.input_shape, dtype=like.dtype, device=like.device)


def checked_shape(model: str, shape: object) -> tuple[int, ...]:
    """Give `shape` as a tuple, or an InputError where it is no shape of one sample."""
    if (
        isinstance(shape, Sequence)
        and shape
        and all(isinstance(size, int) and size > 0 for size in shape)
    ):
        return tuple(shape)
    raise InputError(
        f"{model}: input_shape is {shape!r}; write the shape of one sample without the batch,"
        f" such as (3, 32, 32)"
    )


def _refuse_repeated_names(model: str, named: list[tuple[str, nn.Module]]) -> None:
    for name, times in Counter(name for name, _ in named).items():
        if times > 1:
            raise InputError(
                f"{model}: {times} layers are called {name!r}; give every layer its own name"
            )


def _refuse_shared_parameters(model: str, named: list[tuple[str, nn.Module]]) -> None:
    """Two layers may end up on two machines, so that neither may own a weight of the other."""
    owner: dict[nn.Parameter, str] = {}
    for name, layer in named:
        for parameter in layer.parameters():
            if parameter in owner:
                raise InputError(
                    f"{model}: layers {owner[parameter]!r} and {name!r} share parameters, so no cut"
                    f" may come between them; give each its own, or make them one layer"
                )
        owner |= dict.fromkeys(layer.parameters(), name)


def _keep_inputs_intact(layers: nn.Module) -> None:
    """Switch in-place layers to their equal twins: across a cut, the input belongs to another."""
    for module in layers.modules():
        if getattr(module, "inplace", False) is True:
            module.inplace = False  # type: ignore[assignment]
