"""`tiercut replan`: a new plan for a changed fleet, and what it gains."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tiercut.cli.inputs import (
    BatchOption,
    CostOption,
    EpochsOption,
    FleetOption,
    JsonOption,
    OutputOption,
    ProfileOption,
    ScenarioArgument,
    deliver,
    parse_layers,
    read_inputs,
)
from tiercut.cli.plan import CutsOption, show_plan
from tiercut.cli.progress import watching


def replan(
    plan: Annotated[Path, typer.Argument(help="The plan file in force.")],
    scenario: ScenarioArgument = None,
    fleet: FleetOption = None,
    profile: ProfileOption = None,
    cuts: CutsOption = None,
    batch: BatchOption = None,
    epochs: EpochsOption = None,
    cost: CostOption = None,
    json: JsonOption = False,
    output: OutputOption = None,
) -> None:
    """Plan anew when devices or links changed, starting from PLAN, and say what that gains."""
    from tiercut.cost import scheme_named
    from tiercut.documents import to_json
    from tiercut.errors import InputError
    from tiercut.plan.plan import read_plan
    from tiercut.plan.problem import Problem
    from tiercut.plan.replan import replan as plan_again
    from tiercut.units import show_time

    old = read_plan(plan)
    scheme = scheme_named(old.scheme)
    if not scheme.three_tiers:
        raise InputError(f"{plan}: {scheme.title} has no groups to plan again; use `tiercut plan`")
    inputs = read_inputs(
        scenario, fleet, profile, batch=batch, epochs=epochs, cost=cost, planned=old
    )
    candidates = parse_layers(cuts) if cuts is not None else old.cuts or inputs.cuts(None, scheme)
    problem = Problem(
        inputs.fleet,
        inputs.work,
        candidates,
        inputs.cost,
        scheme=scheme,
        client_layers=inputs.client_layers,
    )
    with watching("planning again") as progress:
        result = plan_again(problem, old, str(plan), progress=progress)
    text = to_json({**result.to_dict(), "clients": list(inputs.fleet.names)})
    if output is not None:
        deliver(text, output)
    if json:
        deliver(text, None)
        return
    show_plan(result.new, inputs.fleet)
    for what, names in (("left", result.left), ("joined", result.joined)):
        if names:
            typer.echo(f"{len(names)} clients {what}: {', '.join(names[:8])}")
    typer.echo(
        f"keeping the old plan: {show_time(result.kept.seconds.round)} a round; the new one:"
        f" {show_time(result.new.seconds.round)}, {result.gain:.1%} less"
    )
