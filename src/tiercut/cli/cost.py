"""`tiercut cost`: seconds and bytes of a round with a given plan."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tiercut.cli.inputs import (
    BatchOption,
    CostOption,
    EpochsOption,
    FleetOption,
    Inputs,
    JsonOption,
    ProfileOption,
    ScenarioArgument,
    deliver,
    given,
    read_inputs,
)

if TYPE_CHECKING:
    from tiercut.cost import Placement, SchemeCost

PlanOption = Annotated[Path, typer.Option("--plan", help="Plan file (JSON).")]
SchemeOption = Annotated[
    str | None, typer.Option("--scheme", help="Price it as this scheme [the plan's own].")
]


def read_planned(
    scenario: Path | None,
    fleet: Path | None,
    profile: str | None,
    plan: Path,
    scheme: str | None,
    batch: int | None,
    epochs: int | None,
    cost: str | None,
) -> tuple[Inputs, Placement, SchemeCost]:
    """The inputs of a round with a plan, all checked against each other."""
    from tiercut.cost import check_placement, scheme_named
    from tiercut.plan.plan import read_plan

    planned = read_plan(plan)
    inputs = read_inputs(
        scenario, fleet, profile, batch=batch, epochs=epochs, cost=cost, planned=planned
    )
    planned.check_clients(inputs.fleet.names, str(plan))
    chosen = scheme_named(given(scheme, planned.scheme))
    placement = planned.placement(str(plan)).for_scheme(chosen)
    check_placement(placement, inputs.fleet, inputs.work.profile.depth)
    return inputs, placement, chosen


def cost(
    plan: PlanOption,
    scenario: ScenarioArgument = None,
    fleet: FleetOption = None,
    profile: ProfileOption = None,
    scheme: SchemeOption = None,
    batch: BatchOption = None,
    epochs: EpochsOption = None,
    cost: CostOption = None,
    json: JsonOption = False,
) -> None:
    """Price one training round of a plan: seconds by phase, bytes by kind."""
    from tiercut.cost import binding, round_bytes, round_seconds
    from tiercut.documents import to_json

    inputs, placement, chosen = read_planned(
        scenario, fleet, profile, plan, scheme, batch, epochs, cost
    )
    seconds = round_seconds(inputs.fleet, inputs.work, placement, chosen, inputs.cost)
    traffic = round_bytes(inputs.fleet, inputs.work, placement, chosen)
    result = {
        "version": 1,
        "scheme": chosen.name,
        "cost": inputs.cost,
        "seconds": seconds.to_dict(),
        "bytes": traffic.to_dict(),
        "batches_per_epoch": inputs.work.batches(inputs.fleet),
        "batch": inputs.work.batch,
        "epochs": inputs.work.epochs,
        "portions": inputs.work.portions,
        "server_share": inputs.work.server_share,
        "binding": binding(inputs.fleet, inputs.work, placement, chosen, inputs.cost),
    }
    if json:
        deliver(to_json(result), None)
    else:
        show_cost(chosen.title, result)


def show_cost(title: str, result: dict[str, Any]) -> None:
    """Seconds and bytes of a round as tables."""
    from rich.console import Console
    from rich.table import Table

    from tiercut.units import show_size, show_time

    spent, sent = result["seconds"], result["bytes"]
    table = Table(title=f"{title}: one round, `{result['cost']}` cost model", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    steps = result["epochs"] * result["batches_per_epoch"]
    for name, label in (
        ("download", "weights down"),
        ("forward", "forward, per batch"),
        ("backward", "backward, per batch"),
        ("server", "server, per batch"),
        ("upload", "weights up"),
        ("round", f"round ({steps} batches)"),
    ):
        table.add_row(label, show_time(spent[name]))
    table.add_section()
    for name, amount in sent.items():
        if amount and name not in ("total", "labels", "head_weights"):
            table.add_row(name.replace("_", " "), show_size(amount))
    table.add_row("all bytes", show_size(sent["total"]))
    table.add_row("beside them: labels", show_size(sent["labels"]))
    if sent["head_weights"]:
        table.add_row("beside them: auxiliary heads", show_size(sent["head_weights"]))
    if spent["heads"]:
        table.add_row("beside them: computing the heads, per batch", show_time(spent["heads"]))
    console = Console()
    console.print(table)
    console.print(result["binding"], highlight=False)
