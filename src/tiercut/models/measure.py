"""How fast this device really trains each layer of a model, in FLOP/s.

The figure is the one the cost model divides by: three times the forward work (one forward pass and
a backward pass counted as two) over the time that both really take.
"""

from __future__ import annotations

import copy
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from tiercut.errors import InputError
from tiercut.models.layered import LayeredModel
from tiercut.models.trace import trace

FEWEST_REPEATS = 3
WARM_UPS = 2


@dataclass(frozen=True)
class Measurement:
    """FLOP/s of one device on one model.

    Attributes:
        throughput: all work over all time; what a fleet file wants.
        layer_throughput: the same for each layer, 0 for a layer that does no counted work (its time
            still counts in `throughput`, as it does in training).

    """

    throughput: float
    layer_throughput: tuple[float, ...]


def _ignore(index: int, name: str) -> None:
    """Nobody is watching."""


def measure(
    model: LayeredModel,
    batch: int = 32,
    seconds: float = 0.2,
    on_layer: Callable[[int, str], None] = _ignore,
) -> Measurement:
    """Time forward and backward of every layer on a random batch, about `seconds` for each layer.

    Runs where the model's parameters are, on copies: the model itself is left as it was.
    `on_layer(index, name)` is called before each layer is timed.
    """
    if batch < 1:
        raise InputError(f"batch is {batch}; measure with at least one sample, such as batch = 32")
    work = [3 * batch * flops for flops in trace(model).flops.tolist()]
    if not any(work):
        raise InputError(
            f"{model.name} does no floating-point work that can be counted, so it has no"
            f" throughput; measure a model with convolutions or linear layers"
        )
    times = []
    activations = model.random_input(batch)
    for index, (name, layer) in enumerate(model.named_layers(), start=1):
        on_layer(index, name)
        replica = copy.deepcopy(layer).train()
        times.append(_time_training(replica, activations, seconds))
        activations = replica(activations).detach().requires_grad_()
    per_layer = tuple(w / t for w, t in zip(work, times, strict=True))
    return Measurement(throughput=sum(work) / sum(times), layer_throughput=per_layer)


def _train_pass(layer: nn.Module, inputs: Tensor) -> None:
    """Forward and backward, for the gradients that training needs: weights, and inputs if asked."""
    outputs = layer(inputs)
    wanted = [tensor for tensor in (inputs, *layer.parameters()) if tensor.requires_grad]
    if wanted:
        torch.autograd.grad(outputs, wanted, torch.ones_like(outputs), allow_unused=True)


def _time_training(layer: nn.Module, inputs: Tensor, budget: float) -> float:
    """Median seconds of one pass, warmed up, repeated for as long as the budget lasts."""
    for _ in range(WARM_UPS):
        _train_pass(layer, inputs)
    times: list[float] = []
    while len(times) < FEWEST_REPEATS or sum(times) < budget:
        _wait_for(inputs.device)
        start = time.perf_counter()
        _train_pass(layer, inputs)
        _wait_for(inputs.device)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def _wait_for(device: torch.device) -> None:
    """Accelerators work in the background; a clock must wait for them."""
    if device.type != "cpu":
        torch.accelerator.synchronize(device)
