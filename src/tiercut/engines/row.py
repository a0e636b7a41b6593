"""One row of a stack as an ordinary module: its parameters are views into the stack.

This takes any module and any optimiser of torch. `threads` runs rows side by side on cores, `graph`
captures them for a GPU.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor, nn
from torch.nn import functional

from tiercut.engines.chains import HEAD
from tiercut.engines.dropout import ClientMasks, stream_dropout
from tiercut.engines.executor import Bucket
from tiercut.engines.layout import channels_last, in_memory_order
from tiercut.engines.shadows import attach, follow, widened
from tiercut.engines.stack import COUNT
from tiercut.engines.wire import carried, send


class Row:
    """The replica of one client: chains, and optimisers for its own and for each shared layer."""

    def __init__(
        self,
        bucket: Bucket,
        row: int,
        prototypes: nn.ModuleDict,
        gradients: Mapping[str, Tensor],
        autocast: torch.dtype | None,
        shadows: Mapping[str, Tensor] | None = None,
    ) -> None:
        """`shadows` are stacks that products read instead of weights (see shadows.py)."""
        self.bucket, self.row, self._autocast = bucket, row, autocast
        stack = bucket.stack
        self._wire, self._sends = stack.task.wire, bucket.sends[row - bucket.first]
        modules = copy.deepcopy(prototypes)
        self.masks = ClientMasks(stack.keys[row], stack.steps[row])
        for chain in modules.values():
            stream_dropout(chain, self.masks)
        self._chains = modules.train()
        self._viewed: list[str] = []
        self._parameters = dict(self._view_stack())
        mine = {key: rows[row - bucket.first] for key, rows in (shadows or {}).items()}
        self._shadows = attach(modules, mine)
        self._gradients = {key: gradients[key][row] for key in self._parameters if key in gradients}
        self._updated: dict[str, nn.Parameter] = {}
        self._keys = self._parts()
        self._optimisers = {layer: self._optimise(keys) for layer, keys in self._keys.items()}

    def _view_stack(self) -> Iterator[tuple[str, nn.Parameter]]:
        """Put views of the stack in the place of parameters and buffers."""
        weights = self.bucket.stack.weights
        for chain in self._chains.values():
            for name, module in list(chain.named_modules()):
                for key in [*module._parameters, *module._buffers]:
                    full = f"{name}.{key}" if name else key
                    if full not in weights:
                        continue
                    self._viewed.append(full)
                    view = weights[full][self.row]
                    if key in module._parameters:
                        parameter = nn.Parameter(view)
                        module._parameters[key] = parameter
                        yield full, parameter
                    else:
                        module._buffers[key] = view

    def _parts(self) -> dict[str | None, list[str]]:
        """The names of the parameters in each shared layer, and under None those of the own."""
        parts: dict[str | None, list[str]] = {}
        for key in self._parameters:
            layer = self.bucket.stack.layer_of[key]
            parts.setdefault(layer if layer in self.bucket.shared else None, []).append(key)
        return parts

    def _optimise(self, names: list[str]) -> torch.optim.Optimizer:
        # Fused optimisers copy what is not contiguous, so they see everything as it lies in memory.
        for key in names:
            value = self._in_memory_order(key, self._parameters[key].detach())
            self._updated[key] = nn.Parameter(value)
        parameters = [self._updated[key] for key in names]
        captured = self.bucket.stack.device.type == "cuda"
        optimiser = self.bucket.optimiser.build(parameters, fused=True, captured=captured)
        for key, parameter in zip(names, parameters, strict=True):
            moments = self.bucket.stack.moments[key]
            optimiser.state[parameter] = {
                name: rows[self.row]
                if name == COUNT
                else self._in_memory_order(key, rows[self.row])
                for name, rows in moments.items()
            }
        return optimiser

    def _in_memory_order(self, key: str, value: Tensor) -> Tensor:
        return in_memory_order(value, like=self._parameters[key])

    def backward(self, images: Tensor, labels: Tensor) -> tuple[Tensor | None, Tensor]:
        """Gradients of this batch; returns the local and the final loss, summed over samples."""
        for key, parameter in self._parameters.items():
            parameter.grad = self._gradients.get(key)
            if parameter.grad is not None:
                parameter.grad.zero_()
        for shadow in self._shadows.values():
            shadow.grad = None
        local: Tensor | None = None
        with self._precision():
            values = self._front(channels_last(images))
            if "head" in self._chains:
                local = self._loss(self._chains["head"], values, labels)
                seen = self.bucket.stack.task.sent_up(len(labels))
                values, labels = values.detach()[:seen], labels[:seen]
                values = self._chains["back"](carried(values, self._wire))
            loss = functional.cross_entropy(values, labels)
        loss.backward()
        self.masks.step.add_(1)
        return local, loss.detach() * len(labels)

    def _front(self, values: Tensor) -> Tensor:
        """Run the front; what travels within it arrives as the wire leaves it."""
        ends = self._sends if "head" not in self._chains else self._sends - {self.bucket.cut}
        for number, layer in enumerate(self._chains["front"].children(), start=1):
            values = layer(values)
            if number in ends:
                values = send(values, self._wire)
        return values

    def _loss(self, head: nn.Module, values: Tensor, labels: Tensor) -> Tensor:
        loss = functional.cross_entropy(head(values), labels)
        loss.backward()
        return loss.detach() * len(labels)

    def tensors(self) -> Iterator[Tensor]:
        """Everything of this replica that training changes."""
        stack = self.bucket.stack
        yield stack.steps[self.row]
        for key in self._viewed:
            yield stack.weights[key][self.row]
            yield from (rows[self.row] for rows in stack.moments.get(key, {}).values())

    def update(self, layers: Sequence[str] | None) -> None:
        """Step the own layers, or those of the shared ones that this replica has."""
        for layer in (None,) if layers is None else layers:
            if layer in self._optimisers:
                keys = self._keys[layer]
                self._hand_over_gradients(keys)
                self._optimisers[layer].step()
                shadowed = [key for key in keys if key in self._shadows]
                if shadowed:
                    follow(
                        [self._in_memory_order(key, self._shadows[key]) for key in shadowed],
                        [self._updated[key] for key in shadowed],
                    )

    def _hand_over_gradients(self, keys: list[str]) -> None:
        for key in keys:
            gradient = self._parameters[key].grad
            if gradient is not None:
                gradient = self._in_memory_order(key, gradient)
            self._updated[key].grad = gradient
        narrow = {
            key: self._in_memory_order(key, gradient)
            for key in keys
            if key in self._shadows and (gradient := self._shadows[key].grad) is not None
        }
        if not narrow:
            return
        wide = widened(list(narrow.values()), [self._updated[key] for key in narrow])
        for key, gradient in zip(narrow, wide, strict=True):
            others = self._updated[key].grad  # of a product that is also used without autocast
            self._updated[key].grad = gradient if others is None else others + gradient

    def _precision(self) -> AbstractContextManager[object]:
        if self._autocast is None:
            return nullcontext()
        # Weights are used once a step, and a cache of them must not outlive a captured graph.
        kind = self.bucket.stack.device.type
        return torch.autocast(kind, dtype=self._autocast, cache_enabled=False)


def prototypes_of(bucket: Bucket) -> nn.ModuleDict:
    """The bucket's chains without weights, cheap to copy; the head is called as in the stack."""
    chains = bucket.chains
    modules = nn.ModuleDict({"front": chains.front})
    if chains.head is not None and chains.back is not None:
        head = nn.Sequential()
        head.add_module(f"{HEAD}{bucket.cut}", chains.head)
        modules.update({"head": head, "back": chains.back})
    return modules.to("meta")
