"""A scenario as the values of a run: data, fleet, model, scheme and planner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiercut.cost import Workload
from tiercut.data import Dataset, Load, Split, load, partition
from tiercut.engines.build import find_settings
from tiercut.engines.executor import Settings
from tiercut.engines.optimiser import Optimiser
from tiercut.engines.task import Brief, Examples, Task, build_initial
from tiercut.errors import InputError
from tiercut.fleet import Fleet, build_fleet
from tiercut.models.layered import LayeredModel
from tiercut.models.profile import Profile, read_profile
from tiercut.models.trace import trace
from tiercut.plan.plan import PlanFile
from tiercut.plan.solve import solver_named
from tiercut.scenario import EngineSection, Scenario
from tiercut.schemes import Part, Scheme, find_scheme
from tiercut.seeds import Seeds
from tiercut.train.events import check_events
from tiercut.train.planner import Planner, known_as


@dataclass(frozen=True, eq=False)
class Setting:
    """What a run starts from; the same values give the same run."""

    scenario: Scenario
    task: Brief
    test: Examples
    """What accuracy is measured on."""
    fleet: Fleet
    """At the start, with as many examples as the clients really train on."""
    planner: Planner

    @property
    def seeds(self) -> Seeds:
        """The root of all randomness."""
        return self.task.seeds

    @cached_property
    def execution(self) -> Settings:
        """Where and how precisely the scenario's engine computes."""
        return find_settings(self.scenario.engine)


def build_setting(
    scenario: Scenario,
    *,
    scheme: str | None = None,
    plan: PlanFile | None = None,
    data_dir: Path | None = None,
    load: Load = load,
) -> Setting:
    """Everything a run of `scenario` needs, checked against each other before anything starts.

    The scheme is the one named, else that of the plan, else that of the scenario's solver. A plan's
    decision is kept to; its batch, epochs and cost model are not, since those change the training.
    """
    scenario = scenario.model_copy(update={"engine": reachable(scenario.engine)})
    seeds = Seeds(scenario.seed)
    chosen, solver = find_method(scenario, scheme, plan)
    data = load(scenario.data, data_dir)
    fleet = build_fleet(scenario.fleet, seeds)
    shards = partition(data.train.labels, fleet.examples, scenario.data, seeds)
    fleet = replace(fleet, examples=sizes_of(shards))
    check_events(scenario.events, fleet, seeds)
    task = Task(
        **agreed_terms(scenario, chosen, data),
        examples=examples_of(data, data.train),
        clients=fleet.names,
        shards=tuple(shards),
        augment=scenario.data.augment,
    )
    planner = build_planner(scenario, task, solver, plan)
    return Setting(scenario, task, examples_of(data, data.test), fleet, planner)


def agreed_terms(scenario: Scenario, scheme: Scheme, data: Dataset) -> dict[str, Any]:
    """What is trained and how, as every kind of task takes it."""
    training, seeds = scenario.training, Seeds(scenario.seed)
    return {
        "model": build_initial(
            scenario.model.name,
            seeds,
            classes=len(data.classes),
            input_shape=scenario.model.input_shape,
        ),
        "scheme": scheme,
        "optimiser": Optimiser(
            training.optimiser, training.rate, training.momentum, training.weight_decay
        ),
        "outer_momentum": training.outer_momentum,
        "batch": training.batch,
        "epochs": training.epochs,
        "portions": training.portions,
        "seeds": seeds,
        "head": training.head,
        "wire": training.wire,
        "server_share": training.server_share,
    }


def build_planner(
    scenario: Scenario, task: Brief, solver: str, plan: PlanFile | None = None
) -> Planner:
    """What plans the rounds of a task."""
    work = Workload.under(task, _profile(scenario, task.model))
    known = None if plan is None else _as_known(plan, task.scheme)
    cost = task.scheme.cost
    plans = scenario.plan
    kept = plans.client_layers
    if kept is None and plan is not None:
        kept = plan.client_layers
    return Planner(cost, solver, work, plans.cuts, plans.cost, known, kept)


def find_method(
    scenario: Scenario, scheme: str | None = None, plan: PlanFile | None = None
) -> tuple[Scheme, str]:
    """The scheme to train by, and the solver that plans it."""
    training, usual = scenario.training, solver_named(scenario.plan.solver).scheme
    found = find_scheme(scheme or (usual if plan is None else plan.scheme))
    chosen = found.with_intervals(
        {Part.AGGREGATOR: training.aggregator_interval, Part.SERVER: training.server_interval}
    )
    return chosen, scenario.plan.solver if chosen.name == usual else chosen.solver


def reachable(section: EngineSection) -> EngineSection:
    """Nodes run on the CPU only."""
    if section.name in ("stacked", "ray"):
        return section
    if section.device not in ("auto", "cpu"):
        raise InputError(
            f"device is {section.device!r}, and the engine {section.name} runs on the CPU only; use"
            f" device cpu, or the engine stacked"
        )
    return section.model_copy(update={"device": "cpu"})


def _as_known(plan: PlanFile, scheme: Scheme) -> PlanFile:
    """A plan that was made for a scheme of the user's own, under a name that plans are read by."""
    if plan.scheme != scheme.name:
        return plan
    return plan.model_copy(update={"scheme": known_as(scheme.cost)})


def sizes_of(shards: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """How many examples each client has."""
    return np.array([len(shard) for shard in shards], dtype=np.int64)


def examples_of(data: Dataset, split: Split) -> Examples:
    """A split of a data set, with what normalises it."""
    return Examples(split.images, split.labels, data.mean, data.std)


def _profile(scenario: Scenario, model: LayeredModel) -> Profile:
    """What the model costs: from the scenario's file, or found by a dry run."""
    path = scenario.model.profile
    if path is None:
        return trace(model)
    profile = read_profile(path)
    if profile.depth != model.depth:
        raise InputError(
            f"{path}: the profile has {profile.depth} layers and {model.name} has {model.depth};"
            f" make the profile of this model with `tiercut profile`"
        )
    return profile
