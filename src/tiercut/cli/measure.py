"""`tiercut measure`: what the runs of a comparison came to, derived anew."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tiercut.cli.inputs import JsonOption
from tiercut.errors import InputError

TargetsOption = Annotated[
    str | None,
    typer.Option("--targets", help="Accuracies in percent, such as 60,70,75 [chosen]."),
]


def measure(
    results: Annotated[Path, typer.Argument(help="The folder of a comparison.")],
    targets: TargetsOption = None,
    json: JsonOption = False,
) -> None:
    """Derive summary.json from the runs again, and show who reaches which accuracy when."""
    from tiercut.cli.results_tables import show_summary
    from tiercut.documents import to_json
    from tiercut.measure.summary import write_summary

    summary = write_summary(results, parse_targets(targets))
    if json:
        typer.echo(to_json(summary), nl=False)
    else:
        show_summary(summary)


def parse_targets(text: str | None) -> tuple[float, ...] | None:
    """Accuracies from 0 to 1, from percents such as "60,70,75"."""
    if text is None:
        return None
    try:
        percents = sorted({float(part) for part in text.split(",")})
    except ValueError:
        percents = []
    if not percents or not all(1 <= percent <= 100 for percent in percents):
        raise InputError(f"--targets {text!r}: expected percents from 1 to 100, such as 60,70,75")
    return tuple(percent / 100 for percent in percents)
