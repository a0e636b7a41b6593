"""Which layers run where, and who serves whom: the part of a plan that costs follow from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tiercut.cost.schemes import SchemeCost
from tiercut.errors import InputError
from tiercut.fleet import Fleet

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Placement:
    """For every client its layers h and v, and the client that runs its layers h+1..v.

    A client that aggregates serves itself. On two tiers every client does, and h = v.
    """

    aggregator_layers: Ints
    cut_layers: Ints
    aggregator_of: Ints

    @classmethod
    def three_tiers(cls, h: int, v: int, aggregator_of: Sequence[int] | Ints) -> Self:
        """One h and v for all, with client n served by client aggregator_of[n]."""
        served_by = np.asarray(aggregator_of, dtype=np.int64)
        return cls(np.full(len(served_by), h), np.full(len(served_by), v), served_by)

    @classmethod
    def two_tiers(cls, cut_layers: Sequence[int] | Ints) -> Self:
        """Every client runs its own layers up to its cut, as in SFL, LocSFL and DTFL."""
        cuts = np.asarray(cut_layers, dtype=np.int64)
        return cls(cuts, cuts, np.arange(len(cuts)))

    def for_scheme(self, scheme: SchemeCost) -> Placement:
        """The placement as `scheme` would run it: without groups on two tiers."""
        return self if scheme.three_tiers else Placement.two_tiers(self.cut_layers)

    @cached_property
    def aggregators(self) -> Ints:
        """The clients that run layers h+1..v, for themselves at least."""
        return np.flatnonzero(self.hosted)

    @cached_property
    def is_aggregator(self) -> NDArray[np.bool_]:
        """Whether each client is one."""
        return self.hosted > 0

    @cached_property
    def hosted(self) -> Ints:
        """n_k: how many models each client hosts, 0 if it is no aggregator."""
        return np.bincount(self.aggregator_of, minlength=len(self.aggregator_of))


def check_placement(placement: Placement, fleet: Fleet, depth: int) -> None:
    """Refuse a placement that this fleet and a model of `depth` layers cannot run."""
    count = len(fleet)
    served_by = placement.aggregator_of
    if len(served_by) != count:
        raise InputError(
            f"the plan places {len(served_by)} clients and the fleet has {count};"
            f" make a plan for this fleet with `tiercut plan`"
        )
    _check_layers(placement, depth)
    if served_by.min() < 0 or served_by.max() >= count:
        n = int(np.argmax((served_by < 0) | (served_by >= count)))
        raise InputError(
            f"aggregator_of[{n}] is {served_by[n]}; expected a client's index, 0 to {count - 1}"
        )
    astray = placement.is_aggregator & (served_by != np.arange(count))
    if astray.any():
        k = int(np.argmax(astray))
        raise InputError(
            f"aggregator_of[{k}] is {served_by[k]}, but client {fleet.names[k]!r} serves others;"
            f" an aggregator must serve itself"
        )
    unlinked = fleet.links.pairs(np.arange(count), served_by) <= 0
    if unlinked.any():
        n = int(np.argmax(unlinked))
        raise InputError(
            f"client {fleet.names[n]!r} is served by {fleet.names[served_by[n]]!r}, and the fleet"
            f" has no link between them"
        )


def _check_layers(placement: Placement, depth: int) -> None:
    h, v = placement.aggregator_layers, placement.cut_layers
    if v.min() < 1 or v.max() > depth - 1:
        wrong = v[(v < 1) | (v > depth - 1)][0]
        raise InputError(
            f"the cut layer is {wrong}; a model of {depth} layers can be cut after layers 1 to"
            f" {depth - 1}"
        )
    if h.min() < 1 or (h > v).any():
        wrong_h, wrong_v = (int(x[(h < 1) | (h > v)][0]) for x in (h, v))
        raise InputError(
            f"the aggregator layer is {wrong_h}; expected a layer from 1 to the cut layer {wrong_v}"
        )
