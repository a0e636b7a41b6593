"""A study in seconds on a CPU: the whole way, with figures that mean nothing."""

from __future__ import annotations

from dataclasses import replace

from tiercut.reproduce.results import Table
from tiercut.reproduce.study import Contender, Study
from tiercut.scenario import DataSection, EngineSection, Scenario

DEEPEST_CUT = 6
"""Of the small model."""
LABEL = "QUICK TRIAL, no result"


def label(table: Table) -> Table:
    """A table that nobody takes for a result."""
    return replace(table, title=f"{LABEL}: {table.title}")


def quick_study(study: Study) -> Study:
    """The study with those of its contenders that the small model has layers for."""
    return replace(
        study,
        title=f"{LABEL}: {study.title}",
        contenders=tuple(small for one in study.contenders if (small := _fitted(one)) is not None),
        method=("A small model on 8x8 digits, to see that everything works.", *study.method),
        fixed=None if study.fixed is None else "2,5,0.4",
        tuning=None,
        seeds=1,
    )


def _fitted(contender: Contender) -> Contender | None:
    """The contender with those of its cuts that there are; None without any."""
    cuts = contender.own.get("plan.cuts")
    if cuts is None:
        return contender
    fitting = [cut for cut in cuts if cut <= DEEPEST_CUT]
    return replace(contender, own={**contender.own, "plan.cuts": fitting}) if fitting else None


def quick_scenario(scenario: Scenario) -> Scenario:
    """The scenario with five clients, the small model, and two rounds."""
    training = {"batch": 8, "epochs": 1, "rounds": 2, "rate": 1e-3}
    return scenario.model_copy(
        update={
            "name": f"{scenario.name}-quick",
            "model": scenario.model.model_copy(update={"name": "small"}),
            "fleet": scenario.fleet.model_copy(update={"clients": 5, "examples": 24}),
            "data": DataSection(),
            "training": scenario.training.model_copy(update=training),
            "plan": scenario.plan.model_copy(update={"cuts": scenario.plan.cuts and (5,)}),
            "engine": EngineSection(device="cpu", threads=1),
        }
    )
