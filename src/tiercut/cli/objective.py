"""What `tiercut plan --objective` aims at, and the evidence that its files hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from tiercut.cli.inputs import Inputs
from tiercut.cli.probe import read_probe_of
from tiercut.errors import InputError, nearest

if TYPE_CHECKING:
    from tiercut.plan.goal.objective import Kind, Objective
    from tiercut.plan.goal.probed import ProbeCurves
    from tiercut.plan.goal.rounds import Evidence
    from tiercut.plan.plan import Plan
    from tiercut.plan.problem import Problem

ObjectiveOption = Annotated[
    str | None,
    typer.Option("--objective", help="Aim at time-to-accuracy or bytes-to-accuracy [round delay]."),
]
TargetOption = Annotated[
    float | None, typer.Option("--target", help="With --objective: the accuracy, in percent.")
]
LearnOption = Annotated[
    list[Path] | None,
    typer.Option("--learn", help="With --objective: learn from the runs in here; repeatable."),
]


@dataclass(frozen=True)
class Goal:
    """What is aimed at, and the files that say how many rounds it takes."""

    kind: Kind
    target: float
    probe: Path | None
    learn: tuple[Path, ...]


def read_goal(
    objective: str | None, target: float | None, probe: Path | None, learn: Sequence[Path] | None
) -> Goal | None:
    """The goal that the options stand for; None where it is the fastest round."""
    if objective is None:
        alone = "--target" if target is not None else "--learn" if learn else None
        if alone is not None:
            raise InputError(f"{alone} goes with --objective time-to-accuracy or bytes-to-accuracy")
        return None
    kind, wanted = read_kind(objective), read_target(target)
    if probe is None and not learn:
        raise InputError(
            f"--objective {kind} needs to know how many rounds cuts take; give a probe (--probe) or"
            f" finished runs (--learn)"
        )
    return Goal(kind, wanted, probe, tuple(learn or ()))


def read_kind(objective: str) -> Kind:
    """Which of both objectives is named."""
    from tiercut.plan.goal.objective import Kind

    kinds: tuple[Kind, ...] = get_args(Kind)
    kind = next((kind for kind in kinds if kind == objective), None)
    if kind is None:
        raise InputError(
            f"there is no objective {objective!r}{nearest(objective, kinds)}; expected"
            f" {' or '.join(kinds)}"
        )
    return kind


def read_target(target: float | None) -> float:
    """The accuracy that an objective aims at, from 0 to 1."""
    if target is None or not 0 < target <= 100:
        found = "missing" if target is None else f"{target:g}"
        raise InputError(f"--target is {found}; expected an accuracy in percent, such as 75")
    return target / 100


def refuse_others(solver: str, others: dict[str, object]) -> None:
    """An objective is searched for in its own way; what would be ignored is refused."""
    if solver != "exact":
        raise InputError(f"--objective plans with --solver exact; leave --solver {solver} away")
    ignored = [option for option, value in others.items() if value is not None]
    if ignored:
        raise InputError(f"--objective searches in its own way; leave {ignored[0]} away")


def plan_for(goal: Goal, problem: Problem, inputs: Inputs) -> Plan:
    """The plan that reaches the goal with the least time or bytes."""
    from tiercut.cli.progress import watching
    from tiercut.plan.goal.reach import reach

    evidence = _evidence(goal, problem, inputs)
    with watching("planning") as progress:
        return reach(problem, goal.kind, goal.target, evidence, progress=progress)


def _evidence(goal: Goal, problem: Problem, inputs: Inputs) -> Evidence:
    """Runs where there are any, helped by the probe; else the probe."""
    from tiercut.plan.goal.probed import rounds_from_probe

    curves = None if goal.probe is None else _curves(goal.probe, problem.work.profile.name)
    if goal.learn:
        return _learned(goal, problem, inputs, curves)
    assert curves is not None
    passes = problem.work.epochs / problem.work.portions
    return rounds_from_probe(curves, problem.cuts, goal.target, passes)


def _curves(path: Path, model: str) -> ProbeCurves:
    from tiercut.plan.goal.probed import ProbeCurves

    found = read_probe_of(model, path)
    error = found.spread / math.sqrt(len(found.clients))
    return ProbeCurves(found.cuts, found.accuracy, error, found.classes)


def _learned(goal: Goal, problem: Problem, inputs: Inputs, curves: ProbeCurves | None) -> Evidence:
    from tiercut.measure.lessons import intervals_of, read_lessons
    from tiercut.plan.goal.learned import rounds_from_runs
    from tiercut.plan.goal.lesson import Sizes
    from tiercut.plan.goal.probed import relative_epochs
    from tiercut.schemes.registry import find_scheme

    if inputs.scenario is None:
        raise InputError("--learn looks for runs that trained alike; give a scenario file")
    work = inputs.work
    training = inputs.scenario.training.model_copy(
        update={"batch": work.batch, "epochs": work.epochs}
    )
    scenario = inputs.scenario.model_copy(update={"training": training})
    lessons = read_lessons(goal.learn, scenario, len(problem.fleet))
    cuts = sorted({*problem.cuts, *(run.v for run in lessons.runs)})
    known = curves is not None and set(cuts) <= set(curves.cuts)
    relative = relative_epochs(curves, cuts) if curves is not None and known else None
    intervals = intervals_of(find_scheme(problem.scheme.name), scenario)
    learned = rounds_from_runs(lessons.runs, goal.target, Sizes.of(problem), intervals, relative)
    lacking = "the probe lacks some of these cuts and is not used" if curves and not known else ""
    more = [said for said in (lessons.omissions, lacking) if said]
    return replace(learned, basis="; ".join([learned.basis, *more]))


def show_objective(objective: Objective) -> None:
    """The goal for a person: what it takes, how sure that is, and what it rests on."""
    from tiercut.units import show_size, show_time

    show = show_time if objective.kind == "time-to-accuracy" else show_size
    typer.echo(
        f"{100 * objective.target:g} % after about {objective.rounds:.1f} rounds"
        f" ({objective.rounds_low:.1f} to {objective.rounds_high:.1f}):"
        f" {show_time(objective.total_seconds)}, {show_size(objective.total_bytes)}"
    )
    typer.echo(
        f"if rounds are as estimated, no plan takes less than {show(objective.lower_bound)}: this"
        f" one is within {objective.gap:.2%} of the best possible"
    )
    typer.echo(f"estimated from {objective.evidence}")
