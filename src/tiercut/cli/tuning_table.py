"""What tuning came to as a table for a person, and as words for `tiercut compare`."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

import typer

from tiercut.units import show_size, show_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tiercut.measure.tuning import Aim, Found, Tried


def show_tuning(found: Mapping[str, Found], labels: Iterable[str], aim: Aim) -> None:
    """Schemes across, settings down, the best of each marked; and how to compare with those."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=_title(aim))
    table.add_column("setting", overflow="fold")  # the words of labels are long
    for one in found.values():
        table.add_column(escape(one.title), justify="right")
    for label in labels:
        cells = [_cell(one.tried.get(label), aim, label == one.best) for one in found.values()]
        table.add_row(escape(label.replace(",", ", ")), *cells)
    Console().print(table)
    tuned = {name: one for name, one in found.items() if one.best is not None}
    words = [
        f"--override {shlex.quote(f'{name}:{key}={json.dumps(value)}')}"
        for name, one in tuned.items()
        for key, value in one.own.items()
    ]
    if words:
        typer.echo(f"compare with {' '.join(words)}")
    for name, one in tuned.items():
        for key in one.at_the_edge:
            typer.echo(f"{name}: best at the lowest or the highest {key}; try values beyond")


def _title(aim: Aim) -> str:
    if aim.target is None:
        return "accuracy on examples kept back, %"
    what = "time" if aim.kind == "time-to-accuracy" else "bytes"
    return f"{what} to {100 * aim.target:g} % on examples kept back"


def _cell(tried: Tried | None, aim: Aim, best: bool) -> str:
    if tried is None:
        return ""
    if tried.accuracy is None:
        return "failed"
    shown = _amount(tried, aim)
    return f"[bold]{shown} *[/]" if best else shown


def _amount(tried: Tried, aim: Aim) -> str:
    if aim.kind is None:
        return f"{100 * tried.accuracy:.2f}" if tried.accuracy is not None else "failed"
    if tried.seconds is None or tried.bytes is None:
        return "not reached"
    return show_time(tried.seconds) if aim.kind == "time-to-accuracy" else show_size(tried.bytes)
