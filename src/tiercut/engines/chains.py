"""The computation of a step: layers in a row up to a loss, derived from the model at a cut.

Under a local loss there are two chains, since no gradient crosses the cut: the front is layers 1..v
with the auxiliary head, the back is layers v+1..L on what the front computed. Otherwise the whole
model is one chain. The aggregator layer h does not appear: it decides what is averaged when, and
nothing of what is computed.
"""

from __future__ import annotations

import copy
from collections import OrderedDict
from dataclasses import dataclass

from torch import nn

from tiercut.engines.task import Task

HEAD = "head@"
"""How the auxiliary head is called among the layers; no layer of a model is."""


@dataclass(frozen=True, eq=False)
class Chains:
    """Prototypes of a step's modules; their weights do not matter, their names do."""

    front: nn.Sequential
    """Layers 1..v under a local loss, else all."""
    head: nn.Module | None
    """The auxiliary head on top of the front."""
    back: nn.Sequential | None
    """Layers v+1..L under a local loss."""


def build_chains(task: Task, cut: int | None) -> Chains:
    """The chains at a cut; without one, the whole model end to end."""
    layers = list(task.model.named_layers())
    if cut is None:
        return Chains(_sequence(layers), None, None)
    return Chains(_sequence(layers[:cut]), task.build_head(cut), _sequence(layers[cut:]))


def _sequence(layers: list[tuple[str, nn.Module]]) -> nn.Sequential:
    return nn.Sequential(OrderedDict((name, copy.deepcopy(layer)) for name, layer in layers))
