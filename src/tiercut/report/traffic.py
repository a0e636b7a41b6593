"""Bytes of a round by what they carry, scheme by scheme: the values behind bars and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tiercut.report.svg import PALETTE

KINDS = {
    "weights": ("weights, down and up", ("weights_down", "weights_up")),
    "hops": (
        "activations and gradients between clients and aggregators",
        ("activations_to_aggregator", "gradients_from_aggregator"),
    ),
    "activations": ("activations to the server", ("activations_to_server",)),
    "gradients": ("gradients from the server", ("gradients_from_server",)),
}
"""Each kind with its meaning, and the fields of a plan that it sums up."""
BESIDE = {"labels": "labels", "head_weights": "weights of auxiliary heads"}
"""Small, and not in the total."""
COLOURS = {
    "weights": PALETTE["grey"],
    "hops": PALETTE["orange"],
    "activations": PALETTE["blue"],
    "gradients": PALETTE["purple"],
}


@dataclass(frozen=True)
class Traffic:
    """The bytes of a scheme's round."""

    scheme: str
    parts: Mapping[str, float]
    beside: Mapping[str, float]

    @property
    def total(self) -> float:
        """All that the cost model counts."""
        return sum(self.parts.values())


def mean_traffic(scheme: str, plans: Sequence[Mapping[str, float]]) -> Traffic:
    """The means over the plans' `bytes`, of which there is at least one."""
    parts = {
        kind: _mean([sum(plan.get(key, 0.0) for key in keys) for plan in plans])
        for kind, (_, keys) in KINDS.items()
    }
    beside = {key: _mean([plan.get(key, 0.0) for plan in plans]) for key in BESIDE}
    return Traffic(scheme, parts, beside)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
