"""The plan: what was decided, what it costs, and how close to the best possible it is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import ConfigDict, Field

from tiercut.cost import (
    Placement,
    RoundBytes,
    RoundSeconds,
    SchemeCost,
    binding,
    round_bytes,
    round_seconds,
    scheme_named,
)
from tiercut.documents import Document, check, check_version, read_json
from tiercut.errors import InputError
from tiercut.plan.goal.objective import Objective
from tiercut.plan.problem import Problem
from tiercut.scenario import CostModel, Wire


@dataclass(frozen=True, eq=False)
class Plan:
    """A decision with its price and its certificate.

    `lower_bound` is a number of seconds that no plan for the same problem can beat; None where the
    solver proves nothing.
    """

    scheme: SchemeCost
    placement: Placement
    seconds: RoundSeconds
    traffic: RoundBytes
    batches_per_epoch: int
    batch: int
    epochs: int
    portions: int
    wire: Wire
    server_share: float
    cost: CostModel
    cuts: tuple[int, ...]
    client_layers: int | None
    binding: str
    solver: str
    lower_bound: float | None
    wall_seconds: float
    objective: Objective | None = None
    """What was aimed at, where that was not the fastest round."""

    @property
    def gap(self) -> float | None:
        """How far above the bound the plan is, as a fraction of the plan's seconds."""
        if self.lower_bound is None:
            return None
        return max(0.0, 1 - self.lower_bound / self.seconds.round)

    def to_dict(self) -> dict[str, Any]:
        """The plan file's JSON object."""
        h, v = self.placement.aggregator_layers, self.placement.cut_layers
        one_cut = int(v[0]) if (v == v[0]).all() else None
        return {
            "version": 1,
            "scheme": self.scheme.name,
            "aggregator_layer": int(h[0]) if self.scheme.three_tiers else None,
            "cut_layer": one_cut,
            **({"cut_layers": v.tolist()} if self.scheme.cut_per_client else {}),
            "aggregator_of": self.placement.aggregator_of.tolist(),
            "aggregators": len(self.placement.aggregators),
            "round_seconds": self.seconds.round,
            "lower_bound_seconds": self.lower_bound,
            "gap": self.gap,
            "seconds": self.seconds.to_dict(),
            "batches_per_epoch": self.batches_per_epoch,
            "batch": self.batch,
            "epochs": self.epochs,
            "portions": self.portions,
            "wire": self.wire,
            "server_share": self.server_share,
            "cost": self.cost,
            "cuts": list(self.cuts),
            "client_layers": self.client_layers,
            "bytes": self.traffic.to_dict(),
            "binding": self.binding,
            "solver": self.solver,
            "wall_seconds": self.wall_seconds,
            **({} if self.objective is None else {"objective": self.objective.to_dict()}),
        }


def price(
    problem: Problem,
    placement: Placement,
    *,
    solver: str,
    lower_bound: float | None = None,
    wall_seconds: float = 0.0,
) -> Plan:
    """The plan that `placement` is, with everything a user wants to know about it."""
    fleet, work, scheme, model = problem.fleet, problem.work, problem.scheme, problem.model
    return Plan(
        scheme=scheme,
        placement=placement,
        seconds=round_seconds(fleet, work, placement, scheme, model),
        traffic=round_bytes(fleet, work, placement, scheme),
        batches_per_epoch=problem.batches,
        batch=work.batch,
        epochs=work.epochs,
        portions=work.portions,
        wire=work.wire,
        server_share=work.server_share,
        cost=model,
        cuts=problem.cuts,
        client_layers=problem.client_layers,
        binding=binding(fleet, work, placement, scheme, model),
        solver=solver,
        lower_bound=lower_bound,
        wall_seconds=wall_seconds,
    )


MOST = 2**31 - 1
"""No layer and no client has a larger number; what is larger would not fit an array."""


class PlanFile(Document):
    """What is read back from a plan file; the prices in it are computed anew, never trusted."""

    model_config = ConfigDict(extra="ignore")

    version: int
    scheme: str = "aa-hsfl-ll"
    aggregator_layer: int | None = Field(default=None, ge=1, le=MOST)
    cut_layer: int | None = Field(default=None, ge=1, le=MOST)
    cut_layers: tuple[Annotated[int, Field(ge=1, le=MOST)], ...] | None = Field(
        default=None, strict=False
    )
    aggregator_of: tuple[Annotated[int, Field(ge=0, le=MOST)], ...] = Field(
        min_length=1, strict=False
    )
    batch: int = Field(default=32, ge=1)
    epochs: int = Field(default=3, ge=1)
    portions: int = Field(default=1, ge=1)
    wire: Wire = "fp32"
    server_share: float = Field(default=1.0, gt=0, le=1)
    cost: CostModel = "paper"
    cuts: tuple[int, ...] | None = Field(default=None, strict=False, min_length=1)
    client_layers: int | None = Field(default=None, ge=1, le=MOST)
    clients: tuple[str, ...] | None = Field(default=None, strict=False)

    def placement(self, source: str) -> Placement:
        """The decision in the file."""
        served_by = np.array(self.aggregator_of, dtype=np.int64)
        three_tiers = scheme_named(self.scheme).three_tiers
        astray = (served_by < 0) | (served_by >= len(served_by))
        if astray.any():
            n = int(np.argmax(astray))
            raise InputError(
                f"{source}: aggregator_of[{n}] is {served_by[n]}; expected a client's index, 0 to"
                f" {len(served_by) - 1}"
            )
        if self.cut_layers is not None:
            if three_tiers:
                raise InputError(f"{source}: cut_layers is for two tiers; {self.scheme} has three")
            if len(self.cut_layers) != len(served_by):
                raise InputError(
                    f"{source}: cut_layers has {len(self.cut_layers)} entries; expected"
                    f" {len(served_by)}, as many as aggregator_of"
                )
            return Placement.two_tiers(self.cut_layers)
        if self.cut_layer is None:
            raise InputError(f"{source}: the plan has neither cut_layer nor cut_layers")
        if self.aggregator_layer is None:
            if three_tiers:
                raise InputError(f"{source}: aggregator_layer is missing")
            return Placement.two_tiers(np.full(len(served_by), self.cut_layer))
        return Placement.three_tiers(self.aggregator_layer, self.cut_layer, served_by)

    def check_clients(self, names: tuple[str, ...], source: str) -> None:
        """Refuse a fleet whose clients are not the ones the plan was made for, in that order."""
        if self.clients is None or self.clients == names:
            return
        if len(self.clients) != len(self.aggregator_of):
            raise InputError(
                f"{source}: clients has {len(self.clients)} names and aggregator_of"
                f" {len(self.aggregator_of)} entries; expected one name per client"
            )
        if len(self.clients) != len(names):
            return  # another fleet altogether: check_placement says so
        n = next(n for n, name in enumerate(self.clients) if name != names[n])
        raise InputError(
            f"{source}: the plan's client {n} is {self.clients[n]!r} and the fleet's is"
            f" {names[n]!r}; plan again for this fleet with `tiercut replan`"
        )


def read_plan(path: Path) -> PlanFile:
    """The plan in a file."""
    data = read_json(path)
    check_version(data, str(path), "plan")
    return check(PlanFile, data, str(path))
