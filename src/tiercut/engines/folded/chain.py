"""A chain of layers with its stacked state, and the forward pass over folded activations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

import torch
from torch import Tensor, nn

from tiercut.engines.dropout import layer_key, scale, words
from tiercut.engines.folded import convolution, stock
from tiercut.engines.folded import tail as fused
from tiercut.engines.folded.flatten import flatten
from tiercut.engines.folded.fork import Fork
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
from tiercut.engines.folded.plan import plan
from tiercut.engines.folded.precision import Precision
from tiercut.engines.folded.tail import Norm
from tiercut.errors import InputError


@dataclass(frozen=True)
class Chain:
    """Layers trained by one loss, and their state, one `[N, ...]` tensor per key.

    Attributes:
        module: a prototype; its own parameters are not used.
        parameters: float32 by the module's own keys, updated in place.
        buffers: the running statistics, likewise.
        moments: the optimiser's tensors by its name for them, then by parameter.
        steps: updates that each client's parameter has had, `[N]`; one tensor may serve many keys.
            Only Adam needs them.

    """

    module: nn.Module
    parameters: Mapping[str, Tensor]
    buffers: Mapping[str, Tensor] = field(default_factory=dict)
    moments: Mapping[str, Mapping[str, Tensor]] = field(default_factory=dict)
    steps: Mapping[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True)
class Clock:
    """What dropout masks depend on: a key per client and the number of its batch, `[N]` int64."""

    keys: Tensor
    steps: Tensor


class Runner:
    """Runs one chain forward; keeps the bf16 shadows of the weights that products read."""

    def __init__(
        self,
        chain: Chain,
        precision: Precision,
        clock: Clock | None,
        tap: int | None,
        *,
        images: bool,
    ) -> None:
        """Prepare a chain that is tapped after so many layers; it reads `images` or activations."""
        self.chain, self.precision, self.clock = chain, precision, clock
        self.plan = plan(chain.module, tap)
        self.leaves = {
            name: value.detach().requires_grad_() for name, value in chain.parameters.items()
        }
        self.unrolled = {
            f"{step.layer}.weight"
            for step in self.plan.instructions
            if images and isinstance(step, Convolve) and self._unrolls(step)
        }
        """Weights of few channels. Activations are never unrolled, so that a layer's gradient lies
        in one order wherever the model is cut."""
        self.shadows: dict[str, Tensor] = {}
        if precision.kernels:
            for step in self.plan.instructions:
                if isinstance(step, Convolve):
                    name = f"{step.layer}.weight"
                    source = self.packed(name, chain.parameters[name])
                    self.shadows[name] = torch.empty_like(
                        source, dtype=precision.dtype, memory_format=torch.contiguous_format
                    )
        self.refresh()

    def _unrolls(self, step: Convolve) -> bool:
        channels = self.chain.parameters[f"{step.layer}.weight"].shape[2]
        return step.inputs[0] == 0 and channels < convolution.NARROW and not step.geometry.pointwise

    def packed(self, name: str, value: Tensor) -> Tensor:
        """A weight or its gradient in the order of its shadow."""
        return convolution.packed(value, unrolled=name in self.unrolled)

    @torch.no_grad()
    def refresh(self) -> None:
        """Write the shadows again, after somebody else changed the parameters."""
        for name, shadow in self.shadows.items():
            shadow.copy_(self.packed(name, self.chain.parameters[name]))

    def forward(self, values: Tensor, sizes: Tensor) -> tuple[Tensor, Tensor | None]:
        """The scores, and what the next chain reads."""
        held = {0: values}
        last = Counter({self.plan.result: 1})
        if self.plan.tap is not None:
            last[self.plan.tap] += 1
        for step in self.plan.instructions:
            last.update(step.inputs)
        forks = {
            step.around: Fork()
            for step in self.plan.instructions
            if isinstance(step, Tail) and step.around is not None
        }
        for step in self.plan.instructions:
            inputs = tuple(held[value] for value in step.inputs)
            held[step.output] = _reachable(self._run(step, inputs, sizes, forks))
            last.subtract(step.inputs)
            for value in step.inputs:
                if last[value] == 0:
                    held.pop(value, None)
        tap = None if self.plan.tap is None else held[self.plan.tap]
        return held[self.plan.result], tap

    def _run(
        self,
        step: Instruction,
        inputs: tuple[Tensor, ...],
        sizes: Tensor,
        forks: Mapping[int, Fork],
    ) -> Tensor:
        match step:
            case Convolve():
                weight = self.leaves[f"{step.layer}.weight"]
                if self.precision.kernels:
                    shadow = self.shadows[f"{step.layer}.weight"]
                    fork = forks.get(step.output)
                    return convolution.convolve(inputs[0], weight, shadow, step.geometry, fork)
                return stock.convolve(inputs[0], weight, step.geometry)
            case Tail():
                return self._tail(step, inputs, sizes, forks)
            case MaxPool():
                pool = self.chain.module.get_submodule(step.layer)
                return stock.max_pool(inputs[0], pool)  # type: ignore[arg-type]
            case Average():
                return stock.average(inputs[0])
            case Flatten():
                if self.precision.kernels:
                    return flatten(inputs[0])
                return stock.flatten(inputs[0])
            case Journey():
                travelled: Tensor = self.chain.module.get_submodule(step.layer)(inputs[0])
                return travelled
            case Dropout():
                return inputs[0] * self._mask(step, inputs[0])
        raise AssertionError(step)

    def _tail(
        self,
        step: Tail,
        inputs: tuple[Tensor, ...],
        sizes: Tensor,
        forks: Mapping[int, Fork],
    ) -> Tensor:
        bias = self.leaves[f"{step.bias}.bias"] if step.bias else None
        norm = self._norm(step.norm) if step.norm else None
        run = stock.tail
        if self.precision.kernels:
            fork = forks[step.around] if step.around is not None else None
            run = partial(fused.tail, fork=fork)
        return run(
            inputs[0],
            sizes,
            norm=norm,
            bias=bias,
            residual=inputs[1] if step.residual else None,
            relu=step.relu,
            pool=step.pool,
        )

    def _norm(self, layer: str) -> Norm:
        module = self.chain.module.get_submodule(layer)
        assert isinstance(module, nn.BatchNorm2d)
        assert module.momentum is not None
        buffers = self.chain.buffers
        return Norm(
            self.leaves[f"{layer}.weight"],
            self.leaves[f"{layer}.bias"],
            buffers[f"{layer}.running_mean"],
            buffers[f"{layer}.running_var"],
            buffers[f"{layer}.num_batches_tracked"],
            module.momentum,
            module.eps,
        )

    def _mask(self, step: Dropout, values: Tensor) -> Tensor:
        """The dropout mask of every client, hashed in the order of unfolded activations."""
        assert self.clock is not None, "a chain with dropout needs a clock"
        batch, height, width, clients, channels = values.shape
        count = batch * channels * height * width
        hashed = words(self.clock.keys, self.clock.steps, layer_key(step.layer), count)
        mask = scale(hashed, step.p, values.dtype)
        return mask.view(clients, batch, channels, height, width).permute(1, 3, 4, 0, 2)


def _reachable(values: Tensor) -> Tensor:
    """Kernels count values in 32 bits."""
    if values.numel() >= 1 << 31:
        raise InputError(
            f"{values.shape[3]} clients fold into an activation of {values.numel()} values, and the"
            f" kernels reach {1 << 31}; train fewer clients at once"
        )
    return values
