"""How fast this device trains, measured by the code that trains: the replicas of a node.

The figure is the one that makes predictions right. Costs say that a batch takes layers 1..L
3 B (f_1 + ... + f_L) / C seconds (a backward pass counts as two forward ones), so C is that work
over the seconds that the batch really takes: forward, backward and the optimiser's step, of layers
that do no counted work as well.

Layers are timed one after another, so that a device needs memory for one of them rather than for
the whole model. What it takes to call a replica at all is paid once a batch and not once a layer:
it is timed on a replica that does nothing, and taken off. Times are means: where a processor is
shared, or held to a quota, most batches run at full speed and some wait long, and a median would
never see the waiting.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from tiercut.cost import Workload
from tiercut.data.progress import Progress, silent
from tiercut.engines.optimiser import Optimiser
from tiercut.engines.replica import Replica
from tiercut.engines.task import seeded
from tiercut.errors import InputError
from tiercut.models.layered import LayeredModel
from tiercut.models.measure import Measurement
from tiercut.models.profile import Profile

FEWEST_REPEATS = 3
NOISE = 0
"""The seed of what the layers compute on: any will do, and torch's own randomness is left alone."""


@dataclass(frozen=True)
class Timing(Measurement):
    """What was measured, and what every layer takes of a batch's time."""

    layer_seconds: tuple[float, ...]


def as_timed(profile: Profile, timing: Timing) -> Profile:
    """The same work in all, divided among the layers as their times are.

    Counted FLOP say little of layers that move much and compute little, such as first convolutions
    and the last, wide layers: a node that has no others would be thought too fast by far. Since a
    throughput is all work over all time, this makes every stretch of layers take what it was timed
    at, wherever devices differ in how fast they are and not in what they are fast at.
    """
    spent = sum(timing.layer_seconds)
    if not spent:  # calling them is all that there is to layers so small
        return profile
    a_second = float(profile.flops.sum()) / spent
    layers = tuple(
        layer.model_copy(update={"flops": seconds * a_second})
        for layer, seconds in zip(profile.layers, timing.layer_seconds, strict=True)
    )
    # Not model_copy, which would keep the columns that were made of the old layers.
    return Profile(
        name=profile.name, parameters=profile.parameters, layers=layers, heads=profile.heads
    )


def measure_throughput(
    model: LayeredModel,
    profile: Profile,
    batch: int,
    optimiser: Optimiser,
    *,
    seconds: float = 3.0,
    progress: Progress = silent,
) -> Timing:
    """FLOP/s of this device on batches of `batch` samples, where `profile` says what a FLOP is.

    Takes about `seconds`, or as long as each layer needs to warm up and run a few times, on as many
    threads as torch has now. The figure of a layer is that of the layer called on its own.
    """
    layers = np.arange(1, profile.depth + 1)
    work = 3 * Workload(profile, batch).forward(layers, layers)
    if not work.any():
        raise InputError(
            f"{profile.name} does no floating-point work that is counted, so it has no throughput;"
            f" use a model with convolutions or linear layers"
        )
    still = replace(optimiser, rate=0.0)  # the same work, and no weight runs away
    budget = seconds / (1 + model.depth)
    times = []
    with seeded(NOISE):
        values = model.random_input(batch)
        calling, _ = _time_training({"nothing": nn.Identity()}, values, still, budget)
        for index, (name, layer) in enumerate(model.named_layers(), start=1):
            taken, values = _time_training({name: layer}, values, still, budget)
            times.append(taken)
            progress(index, model.depth)
    own = tuple(max(taken - calling, 0.0) for taken in times)
    whole = calling + sum(own)
    per_layer = tuple(w / t for w, t in zip(work.tolist(), times, strict=True))
    return Timing(float(work.sum()) / whole, per_layer, own)


def _time_training(
    layers: Mapping[str, nn.Module], inputs: Tensor, optimiser: Optimiser, budget: float
) -> tuple[float, Tensor]:
    """Seconds to train a copy of `layers` on a batch, and what comes out of them."""
    replica = Replica(optimiser)
    replica.assign(layers)
    outputs = replica.forward(inputs, step=0)
    gradient = torch.ones_like(outputs)
    outputs.backward(gradient)
    replica.update()  # which makes the optimiser's moments
    start = now = time.perf_counter()
    repeats = 0
    while repeats < FEWEST_REPEATS or now < start + budget:
        replica.forward(inputs, step=0).backward(gradient)
        replica.update()
        repeats += 1
        now = time.perf_counter()
    return (now - start) / repeats, outputs.detach()
