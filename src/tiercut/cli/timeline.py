"""`tiercut timeline`: one batch as a picture: who computes what and sends what, when."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tiercut.cli.cost import PlanOption, SchemeOption, read_planned
from tiercut.cli.inputs import (
    BatchOption,
    CostOption,
    FleetOption,
    JsonOption,
    ProfileOption,
    ScenarioArgument,
    check_svg,
    deliver,
)
from tiercut.errors import InputError


def timeline(
    plan: PlanOption,
    scenario: ScenarioArgument = None,
    fleet: FleetOption = None,
    profile: ProfileOption = None,
    scheme: SchemeOption = None,
    batch: BatchOption = None,
    cost: CostOption = None,
    lanes: Annotated[int, typer.Option("--lanes", help="Most nodes to draw.")] = 12,
    json: JsonOption = False,
    output: Annotated[Path, typer.Option("--output", "-o", help="SVG file.")] = Path(
        "timeline.svg"
    ),
) -> None:
    """Draw one batch of a plan as an SVG, the critical path marked; --json prints the events."""
    from tiercut.cost.timeline import batch_timeline
    from tiercut.documents import to_json
    from tiercut.report.gantt import draw_timeline

    check_svg(output)
    if lanes < 1:
        raise InputError(f"--lanes is {lanes}; expected at least 1")
    inputs, placement, chosen = read_planned(
        scenario, fleet, profile, plan, scheme, batch, None, cost
    )
    drawn = batch_timeline(inputs.fleet, inputs.work, placement, chosen, inputs.cost)
    if json:
        critical = set(drawn.critical_path())
        names = [*inputs.fleet.names, "server"]
        events = [
            {
                "kind": event.kind,
                "node": names[event.node],
                "to": names[event.peer] if event.kind == "send" else None,
                "client": names[event.client],
                "label": event.label,
                "start": event.start,
                "end": event.end,
                "critical": position in critical,
            }
            for position, event in enumerate(drawn.events)
        ]
        deliver(to_json({"version": 1, "seconds": drawn.end, "events": events}), None)
        return
    title = f"One batch of {chosen.title}, `{inputs.cost}` cost model"
    deliver(draw_timeline(drawn, inputs.fleet, placement, title=title, most_lanes=lanes), output)
