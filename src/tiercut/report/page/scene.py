"""A plan in its fleet, rebuilt from a run's folder and held against what was recorded there."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tiercut.cost import Placement, SchemeCost, Workload, check_placement, round_seconds
from tiercut.errors import InputError
from tiercut.fleet import Fleet, read_fleet
from tiercut.models.profile import SHIPPED, Profile, read_profile, shipped_profile
from tiercut.report.page.runs import PlanRecord, Run
from tiercut.scenario import Scenario

FleetAfter = Callable[[Scenario, int], Fleet]
"""The fleet of a scenario after so many rounds, whatever happened to it by then."""

AGREES = 1e-6
"""How far, relatively, rebuilt seconds may be from recorded ones."""


@dataclass(frozen=True, eq=False)
class Scene:
    """Who is there, and who does what for whom."""

    fleet: Fleet
    placement: Placement
    scheme: SchemeCost
    plan: PlanRecord


def build_scene(run: Run, fleet_after: FleetAfter) -> Scene:
    """The plan of a run in the fleet it was made for."""
    if run.plan is None or run.scenario is None:
        raise InputError(
            f"{run.folder}: without manifest.json and plan.json nobody knows the fleet and the plan"
        )
    measured = run.folder / "fleet.json"  # where devices were real
    fleet = read_fleet(measured) if measured.exists() else fleet_after(run.scenario, run.rounds)
    fleet = _those_planned_for(fleet, run.plan, run.plan_source)
    return Scene(fleet, run.plan.decided(run.plan_source), run.plan.cost_facts, run.plan)


def _those_planned_for(fleet: Fleet, plan: PlanRecord, source: str) -> Fleet:
    place = {name: n for n, name in enumerate(fleet.names)}
    names = plan.clients or ()
    if len(names) != len(plan.aggregator_of) or any(name not in place for name in names):
        raise InputError(f"{source}: the plan's clients are not those of the scenario's fleet")
    if names == fleet.names:
        return fleet
    return fleet.subset(np.array([place[name] for name in names], dtype=np.int64))


def build_work(scene: Scene, run: Run) -> Workload:
    """What a batch of the scene costs; refused where it is not what was recorded."""
    work = Workload.under(scene.plan, _profile(run))
    check_placement(scene.placement, scene.fleet, work.profile.depth)
    rebuilt = round_seconds(scene.fleet, work, scene.placement, scene.scheme, scene.plan.cost)
    recorded = scene.plan.seconds
    for key in ("forward", "backward", "batch"):
        if not math.isclose(
            getattr(rebuilt, key), recorded.get(key, math.nan), rel_tol=AGREES, abs_tol=1e-12
        ):
            raise InputError(
                f"{run.plan_source}: the fleet and the profile found here do not give the seconds"
                f" that were recorded, so no timeline of {run.scheme} is drawn"
            )
    return work


def _profile(run: Run) -> Profile:
    """The model's profile. A user's own model is not imported: a report runs nobody's code."""
    assert run.scenario is not None
    section, timed = run.scenario.model, run.folder / "profile.json"
    if timed.exists():  # where devices were real
        return read_profile(timed)
    if section.profile is not None:
        return read_profile(section.profile)
    if section.name in SHIPPED:
        return shipped_profile(section.name)
    raise InputError(
        f"there is no timeline of {section.name}, a model of your own: write its profile with"
        f" `tiercut profile {section.name} -o profile.json` and name it in [model]"
    )
