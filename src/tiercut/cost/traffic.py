"""Bytes of a training round, by what they carry."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from tiercut.cost.placement import Placement
from tiercut.cost.schemes import SchemeCost
from tiercut.cost.workload import Workload
from tiercut.fleet import Fleet

LABEL_BYTES = 8
"""A label travels as one 64-bit integer."""


@dataclass(frozen=True)
class RoundBytes:
    """Bytes over all links in one round.

    Labels and the weights of auxiliary heads are small; the paper leaves them out, so they stand
    beside the total instead of in it.
    """

    weights_down: float
    weights_up: float
    activations_to_aggregator: float
    gradients_from_aggregator: float
    activations_to_server: float
    gradients_from_server: float
    total: float
    labels: float
    head_weights: float

    def to_dict(self) -> dict[str, float]:
        """As JSON."""
        return {name: float(value) for name, value in asdict(self).items()}


def round_bytes(
    fleet: Fleet, work: Workload, placement: Placement, scheme: SchemeCost
) -> RoundBytes:
    """The bytes of one round of `scheme` with this placement."""
    h, v = placement.aggregator_layers, placement.cut_layers
    batches = work.epochs * work.batches(fleet)
    served = placement.aggregator_of != np.arange(len(fleet))
    copies = placement.is_aggregator if scheme.one_model_per_group else np.full(len(fleet), True)
    weights = work.weights(1, h).sum() + work.weights(h + 1, v)[copies].sum()
    hops = batches * work.activations(h)[served].sum()
    cuts = batches * work.upload(v, scheme).sum()
    returned = 0.0 if scheme.local_loss else cuts
    labels = work.batch * served.sum() + work.seen(scheme) * len(fleet)
    return RoundBytes(
        weights_down=weights,
        weights_up=weights,
        activations_to_aggregator=hops,
        gradients_from_aggregator=hops,
        activations_to_server=cuts,
        gradients_from_server=returned,
        total=2 * weights + 2 * hops + cuts + returned,
        labels=batches * LABEL_BYTES * float(labels),
        head_weights=_head_weights(work, placement, scheme, copies),
    )


def _head_weights(
    work: Workload, placement: Placement, scheme: SchemeCost, copies: np.ndarray
) -> float:
    """Heads travel with the weights of layer v, down and up; only a local loss has them."""
    heads = work.profile.heads
    if heads is None or not scheme.local_loss:
        return 0.0
    sizes = np.array([head.weight_bytes for head in heads])
    return float(2 * sizes[placement.cut_layers[copies] - 1].sum())
