"""Reads a module's forward, a user's own too, as a list of instructions.

The module is traced symbolically, so that residual adds and functional ReLUs are seen as they are,
and whatever is not known here is refused by name.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.nn import functional

from tiercut.engines.folded.geometry import Geometry
from tiercut.engines.folded.instructions import (
    Average,
    Convolve,
    Dropout,
    Flatten,
    Instruction,
    Journey,
    MaxPool,
    Tail,
)
from tiercut.engines.folded.travel import Travel
from tiercut.errors import InputError


def read_forward(module: nn.Module, tap: int | None) -> tuple[list[Instruction], tuple[int, ...]]:
    """One instruction per operation, and the values that come out: the result, then the tap."""
    root = _Tapped(module, tap)
    try:
        graph = _Tracer().trace(root)
    except Exception as error:  # whatever a user's own forward raises on a symbolic value
        raise InputError(f"the model's forward cannot be traced: {error}") from error
    reader = _Reader(root)
    for node in graph.nodes:
        reader.add(node)
    return reader.instructions, reader.results


class _Tapped(nn.Module):
    """The chain, returning what its layer number `tap` passes on beside the result."""

    def __init__(self, chain: nn.Module, tap: int | None) -> None:
        super().__init__()
        self.chain, self.tap = chain, tap

    def forward(self, values: Tensor) -> Any:
        if self.tap is None:
            return self.chain(values)
        tapped = values
        for position, layer in enumerate(self.chain.children(), start=1):
            values = layer(values)
            if position == self.tap:
                tapped = values
        return values, tapped


_LEAVES = (
    nn.Conv2d,
    nn.Linear,
    nn.BatchNorm2d,
    nn.MaxPool2d,
    nn.AdaptiveAvgPool2d,
    nn.AdaptiveAvgPool1d,
    nn.Flatten,
    nn.ReLU,
    nn.Dropout,
    nn.Identity,
    Travel,
)


class _Tracer(fx.Tracer):
    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        # Containers and a user's own modules are walked through; all of torch's others are leaves.
        known = type(m).__module__.startswith("torch.nn") and not isinstance(m, nn.Sequential)
        return known or isinstance(m, Travel)


class _Reader:
    """Turns graph nodes into instructions, one each; `rank` is that of the unfolded value."""

    def __init__(self, root: _Tapped) -> None:
        self.root = root
        self.instructions: list[Instruction] = []
        self.values: dict[str, int] = {}
        self.ranks: dict[int, int | None] = {}
        self.results: tuple[int, ...] = ()

    def add(self, node: fx.Node) -> None:
        if node.op == "placeholder":
            self.values[node.name] = self._value(None)
        elif node.op == "output":
            given = node.args[0]
            nodes = given if isinstance(given, tuple) else (given,)
            self.results = tuple(self.values[str(item)] for item in nodes)
        elif node.op == "call_module":
            self.values[node.name] = self._leaf(node)
        else:
            self.values[node.name] = self._call(node)

    def _value(self, rank: int | None) -> int:
        self.ranks[len(self.ranks)] = rank
        return len(self.ranks) - 1

    def _emit(self, make: Callable[[int], Instruction], rank: int | None) -> int:
        output = self._value(rank)
        self.instructions.append(make(output))
        return output

    def _leaf(self, node: fx.Node) -> int:
        layer = str(node.target).removeprefix("chain.")
        module = self.root.get_submodule(str(node.target))
        source = self.values[str(node.args[0])]
        if type(module) not in _LEAVES:
            raise InputError(f"layer {layer} is a {type(module).__name__}, which cannot be folded")
        _refuse_options(layer, module)
        match module:
            case nn.Conv2d():
                self._expect(source, layer, 4)
                return self._product(source, layer, module, _geometry(module), 4)
            case nn.Linear():
                self._expect(source, layer, 2)
                return self._product(source, layer, module, Geometry(), 2)
            case nn.BatchNorm2d():
                self._expect(source, layer, 4)
                return self._emit(lambda out: Tail((source,), out, norm=layer), 4)
            case nn.MaxPool2d():
                self._expect(source, layer, 4)
                if _halves(module):
                    return self._emit(lambda out: Tail((source,), out, pool=True), 4)
                return self._emit(lambda out: MaxPool((source,), out, layer), 4)
            case nn.AdaptiveAvgPool2d():
                self._expect(source, layer, 4)
                return self._emit(lambda out: Average((source,), out), 4)
            case nn.AdaptiveAvgPool1d():
                self._expect(source, layer, 3)
                return self._emit(lambda out: Average((source,), out), 3)
            case nn.Flatten():
                return self._flatten(source, module.start_dim, module.end_dim)
            case nn.ReLU():
                return self._emit(lambda out: Tail((source,), out, relu=True), self.ranks[source])
            case nn.Dropout() if module.p > 0:
                rank, p = self.ranks[source], module.p
                return self._emit(lambda out: Dropout((source,), out, layer, p), rank)
            case Travel():
                return self._emit(lambda out: Journey((source,), out, layer), self.ranks[source])
        return source

    def _expect(self, source: int, layer: str, rank: int) -> None:
        """Refuse a layer whose input has another rank than images or vectors that it works on."""
        if self.ranks[source] not in (None, rank):
            raise InputError(
                f"layer {layer} reads a value of {self.ranks[source]} dimensions;"
                f" folded, it reads {rank}"
            )

    def _product(
        self, source: int, layer: str, module: nn.Conv2d | nn.Linear, geometry: Geometry, rank: int
    ) -> int:
        product = self._emit(lambda out: Convolve((source,), out, layer, geometry), rank)
        if module.bias is None:
            return product
        return self._emit(lambda out: Tail((product,), out, bias=layer), rank)

    def _flatten(self, source: int, start: int, end: int) -> int:
        rank = self.ranks[source]
        if end not in (-1, (rank or 4) - 1) or start not in (1, 2):
            raise InputError(f"a flatten of dimensions {start} to {end} cannot be folded")
        if start == 2:
            # Channels stay; positions are numbered alike before and after.
            return self._emit(lambda out: Tail((source,), out), 3)
        return self._emit(lambda out: Flatten((source,), out), 2)

    def _call(self, node: fx.Node) -> int:
        target = node.target
        name = target if isinstance(target, str) else getattr(target, "__name__", str(target))
        inputs = tuple(self.values[arg.name] for arg in node.args if isinstance(arg, fx.Node))
        numbers = [arg for arg in node.args if not isinstance(arg, fx.Node)]
        plain = not (set(node.kwargs) - {"inplace"})
        if target in _RELU and len(inputs) == 1:
            return self._emit(lambda out: Tail(inputs, out, relu=True), self.ranks[inputs[0]])
        if target in _ADD and len(inputs) == 2 and plain:
            rank = self.ranks[inputs[0]]
            return self._emit(lambda out: Tail(inputs, out, residual=True), rank)
        if target in _FLATTEN and plain:
            dims = [number for number in numbers if isinstance(number, int)]
            return self._flatten(inputs[0], *[*dims, *(0, -1)[len(dims) :]])
        raise InputError(f"the model's forward calls {name}, which cannot be folded")


_RELU: Sequence[Any] = (functional.relu, torch.relu, "relu", "relu_")
_ADD: Sequence[Any] = (operator.add, operator.iadd, torch.add, "add", "add_")
_FLATTEN: Sequence[Any] = (torch.flatten, "flatten")


def _refuse_options(layer: str, module: nn.Module) -> None:
    """Refuse the rarer options of a known layer."""
    odd: str | None = None
    match module:
        case nn.Conv2d():
            if module.groups != 1 or module.dilation != (1, 1):
                odd = "groups or dilation"
            elif isinstance(module.padding, str) or module.padding_mode != "zeros":
                odd = "padding by name or mode"
            elif module.stride[0] != module.stride[1]:
                odd = "two different strides"
        case nn.BatchNorm2d():
            if not module.affine or not module.track_running_stats or module.momentum is None:
                odd = "no scale, no running statistics or no momentum"
        case nn.AdaptiveAvgPool1d() | nn.AdaptiveAvgPool2d():
            sizes = module.output_size
            if set(sizes if isinstance(sizes, tuple) else (sizes,)) != {1}:
                odd = "an output larger than one position"
        case nn.MaxPool2d() if module.return_indices:
            odd = "indices as a result"
    if odd:
        raise InputError(
            f"layer {layer} is a {type(module).__name__} with {odd}, which cannot be folded"
        )


def _geometry(module: nn.Conv2d) -> Geometry:
    high, wide = module.kernel_size
    top, left = int(module.padding[0]), int(module.padding[1])
    return Geometry((high, wide), module.stride[0], (top, left))


def _halves(pool: nn.MaxPool2d) -> bool:
    """Whether a max-pool takes 2x2 windows side by side."""
    return (
        pool.kernel_size in (2, (2, 2))
        and pool.stride in (2, (2, 2))
        and pool.padding in (0, (0, 0))
        and pool.dilation in (1, (1, 1))
        and not pool.ceil_mode
    )
