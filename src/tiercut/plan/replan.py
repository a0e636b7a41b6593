"""A new plan for a changed fleet, and what it gains over keeping the old one."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from tiercut.cost import Placement, check_placement
from tiercut.errors import InputError
from tiercut.fleet import Fleet
from tiercut.plan import exact
from tiercut.plan.plan import Plan, PlanFile, price
from tiercut.plan.problem import Problem
from tiercut.plan.solution import Progress, quiet


@dataclass(frozen=True, eq=False)
class Replanned:
    """The old plan and the new one, both priced on the changed fleet."""

    kept: Plan
    new: Plan
    left: tuple[str, ...]
    joined: tuple[str, ...]

    @property
    def gain(self) -> float:
        """The share of a round that the new plan saves."""
        return 1 - self.new.seconds.round / self.kept.seconds.round

    def to_dict(self) -> dict[str, Any]:
        """The new plan's file, with what it replaces."""
        return {
            **self.new.to_dict(),
            "replaces": {
                "round_seconds": self.kept.seconds.round,
                "gain": self.gain,
                "left": list(self.left),
                "joined": list(self.joined),
            },
        }


def replan(
    problem: Problem, old: PlanFile, source: str, *, progress: Progress = quiet
) -> Replanned:
    """Plan anew from an old plan, which is where the search starts."""
    kept, left, joined = carry_over(old, problem.fleet, source)
    check_placement(kept, problem.fleet, problem.depth)
    start = time.perf_counter()
    solution = exact.solve(problem, start=_usable(problem, kept), progress=progress)
    new = price(
        problem,
        solution.placement,
        solver="exact",
        lower_bound=solution.lower_bound,
        wall_seconds=time.perf_counter() - start,
    )
    return Replanned(price(problem, kept, solver=f"kept from {source}"), new, left, joined)


def _usable(problem: Problem, kept: Placement) -> Placement | None:
    """The old plan as a starting point, unless the problem now asks for other layers or wishes."""
    layers = (int(kept.aggregator_layers[0]), int(kept.cut_layers[0]))
    free = problem.wishes.aggregators is None and problem.wishes.allowed is None
    usable = layers in problem.layer_pairs() and free and not problem.wishes.forbidden
    return kept if usable else None


def carry_over(
    old: PlanFile, fleet: Fleet, source: str
) -> tuple[Placement, tuple[str, ...], tuple[str, ...]]:
    """The old plan on the new fleet, and the names of those who left and joined.

    Clients are known by name. Who lost its aggregator or the link to it, or is new, serves itself.
    """
    before = old.placement(source)
    names = old.clients
    if names is None:
        if len(old.aggregator_of) != len(fleet):
            raise InputError(
                f"{source}: the plan has no client names and is for {len(old.aggregator_of)}"
                f" clients, while the fleet has {len(fleet)}; make it again with `tiercut plan -o`"
            )
        names = fleet.names
    if len(names) != len(old.aggregator_of):
        raise InputError(
            f"{source}: clients has {len(names)} names and aggregator_of {len(old.aggregator_of)}"
            f" entries; expected one name per client"
        )
    now = {name: n for n, name in enumerate(fleet.names)}
    served_by = np.arange(len(fleet))
    for name, aggregator in zip(names, before.aggregator_of.tolist(), strict=True):
        if name in now and names[aggregator] in now:
            served_by[now[name]] = now[names[aggregator]]
    alone = np.arange(len(fleet))
    served_by = np.where(fleet.links.pairs(alone, served_by) > 0, served_by, alone)
    left = tuple(name for name in names if name not in now)
    joined = tuple(name for name in fleet.names if name not in set(names))
    h, v = int(before.aggregator_layers[0]), int(before.cut_layers[0])
    return Placement.three_tiers(h, v, served_by), left, joined
