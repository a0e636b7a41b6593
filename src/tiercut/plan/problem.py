"""What is to be planned: a fleet, a model's work, a cost model, and what the user fixed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tiercut.cost import Placement, SchemeCost, Workload, round_seconds, scheme_named
from tiercut.errors import InputError
from tiercut.fleet import Fleet
from tiercut.scenario import CostModel

KEPT_ON_THREE_TIERS, KEPT_ON_TWO_TIERS = 2, 1
"""The fewest layers that a client keeps where nobody says otherwise: on three tiers the paper's."""


@dataclass(frozen=True)
class Wishes:
    """What the user fixed or forbade; None leaves the planner free."""

    aggregator_layer: int | None = None
    aggregators: int | None = None
    """Exactly so many aggregators (lambda N)."""
    allowed: frozenset[int] | None = None
    """Only these clients may aggregate for others."""
    forbidden: frozenset[tuple[int, int]] = frozenset()
    """Pairs (client, aggregator) that must not be formed, in either direction."""


@dataclass(frozen=True, eq=False)
class Problem:
    """One planning problem; `cuts` are the candidate cut layers, V*."""

    fleet: Fleet
    work: Workload
    cuts: tuple[int, ...]
    model: CostModel = "paper"
    wishes: Wishes = field(default_factory=Wishes)
    scheme: SchemeCost = field(default_factory=lambda: scheme_named("aa-hsfl-ll"))
    client_layers: int | None = None
    """The fewest layers that a client keeps, on any number of tiers; None is what is usual."""

    def __post_init__(self) -> None:
        """Refuse problems without a solution, in one sentence each."""
        count = len(self.fleet)
        if count < 2 and self.scheme.three_tiers:
            raise InputError(
                "the fleet has one client; grouping clients needs at least two"
                " (a single client trains as LocSFL: --solver locsfl)"
            )
        check_cuts(self.cuts, self.depth, shallowest_cut(self.scheme, self.client_layers))
        if self.scheme.three_tiers:
            self._check_wishes(count)

    def _check_wishes(self, count: int) -> None:
        wishes = self.wishes
        if wishes.aggregator_layer is not None and not self.layer_pairs():
            fewest = fewest_kept(self.scheme, self.client_layers)
            raise InputError(
                f"the aggregator layer is fixed to {wishes.aggregator_layer}; expected a layer from"
                f" {fewest} to {max(self.cuts) - 1}, below the cut; --client-layers says how few a"
                f" client keeps"
            )
        if wishes.aggregators is not None and not 1 <= wishes.aggregators <= count:
            raise InputError(
                f"{wishes.aggregators} aggregators are asked for; expected 1 to {count}, the number"
                f" of clients"
            )
        named = [*(wishes.allowed or ()), *(n for pair in wishes.forbidden for n in pair)]
        unknown = [n for n in named if not 0 <= n < count]
        if unknown:
            raise InputError(
                f"client {unknown[0]} is allowed or forbidden, and the fleet has clients 0 to"
                f" {count - 1}"
            )

    @property
    def depth(self) -> int:
        """L."""
        return self.work.profile.depth

    @property
    def batches(self) -> int:
        """Q, batches per epoch."""
        return self.work.batches(self.fleet)

    def layer_pairs(self) -> list[tuple[int, int]]:
        """Every (h, v) that may be chosen."""
        fixed = self.wishes.aggregator_layer
        return [
            (h, v)
            for v in self.cuts
            for h in range(fewest_kept(self.scheme, self.client_layers), v)
            if fixed is None or h == fixed
        ]

    def seconds(self, placement: Placement) -> float:
        """T_round of a placement under this problem's scheme and cost model."""
        return round_seconds(self.fleet, self.work, placement, self.scheme, self.model).round


def fewest_kept(scheme: SchemeCost, client_layers: int | None = None) -> int:
    """The fewest layers that a client keeps: as many as were asked for, or as is usual."""
    usual = KEPT_ON_THREE_TIERS if scheme.three_tiers else KEPT_ON_TWO_TIERS
    return usual if client_layers is None else client_layers


def shallowest_cut(scheme: SchemeCost, client_layers: int | None = None) -> int:
    """The first cut that leaves a scheme's parts their layers."""
    return fewest_kept(scheme, client_layers) + (1 if scheme.three_tiers else 0)


def check_cuts(cuts: Sequence[int], depth: int, shallowest: int) -> None:
    """Refuse candidate cuts that a model of `depth` layers does not have."""
    _check_room(depth, shallowest)
    if not cuts:
        raise InputError("no candidate cut layer is given; name at least one, such as --cuts 5")
    wrong = [v for v in cuts if not shallowest <= v <= depth - 1]
    if wrong:
        raise InputError(
            f"cut layer {wrong[0]} is outside {shallowest} to {depth - 1}, the cuts that a model of"
            f" {depth} layers has room for"
        )


def all_cuts(depth: int, scheme: SchemeCost, client_layers: int | None = None) -> tuple[int, ...]:
    """Every candidate there is; on three tiers a model usually needs four layers to have one."""
    shallowest = shallowest_cut(scheme, client_layers)
    _check_room(depth, shallowest)
    return tuple(range(shallowest, depth))


def _check_room(depth: int, shallowest: int) -> None:
    if depth - 1 < shallowest:
        raise InputError(
            f"the model has {depth} layers, and the first cut that leaves every tier its layers is"
            f" after layer {shallowest}; that needs at least {shallowest + 1} layers, or a lower"
            f" client_layers"
        )
