"""The summary of a comparison as tables for a person."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tiercut.units import show_size, show_time

if TYPE_CHECKING:
    from rich.table import Table

Json = Mapping[str, Any]


def show_summary(summary: Json) -> None:
    """How accurate every scheme became, and what each target took."""
    from rich.console import Console

    console = Console()
    if not summary["schemes"]:
        console.print("no run has finished a round yet")
        return
    console.print(_accuracies(summary))
    if summary["targets"]:
        console.print(_targets(summary))


def _accuracies(summary: Json) -> Table:
    from rich.markup import escape

    heading = f"{summary['name']}: {summary['model']} on {summary['data']}"
    table = _narrow(f"{heading}, {summary['clients']} clients")
    table.add_column("scheme")
    for column in ("seeds", "rounds", "final %", "spread", "best %", "h", "v", "K", "round"):
        table.add_column(column, justify="right")
    for scheme in summary["schemes"].values():
        final, decision = scheme["final_accuracy"], scheme["decision"]
        table.add_row(
            escape(scheme["title"]),
            f"{len(scheme['counted'])}/{len(scheme['seeds'])}",
            str(scheme["curve"]["round"][-1]),
            f"{100 * final['mean']:.2f}",
            f"{100 * final['low']:.1f}-{100 * final['high']:.1f}",
            f"{100 * scheme['best_accuracy']['mean']:.2f}",
            _show_number(decision["aggregator_layer"]),
            ",".join(map(str, decision.get("cut_layers", [decision["cut_layer"]]))),
            _show_number(decision["aggregators"]),
            show_time(decision["round_seconds"]),
        )
    return table


def _targets(summary: Json) -> Table:
    """The form of the paper's Table III: targets down, schemes across."""
    from rich.markup import escape

    schemes, gains = summary["schemes"], summary["gains"]
    table = _narrow("What it takes to reach an accuracy")
    for column in ("target", ""):
        table.add_column(column)
    for scheme in schemes.values():
        table.add_column(escape(scheme["title"]), justify="right")
    saved = {(gain["target"], gain["over"]): gain for gain in gains}
    for target in summary["targets"]:
        for key, show in (("seconds", show_time), ("bytes", show_size)):
            reaches = [scheme["targets"][str(target)] for scheme in schemes.values()]
            named = f"{100 * target:g} %" if key == "seconds" else ""
            table.add_row(named, key, *(_show_reach(reach, key, show) for reach in reaches))
            shares = [_show_saved(saved.get((target, name)), key) for name in schemes]
            table.add_row("", "saved", *shares, end_section=key == "bytes")
    if gains:
        table.caption = escape(f"saved: by {schemes[gains[0]['scheme']]['title']}, of the above")
    return table


def _narrow(title: str) -> Table:
    """A table without lines, so that six schemes fit into 80 columns."""
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    return Table(title=escape(title), box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)


def _show_reach(reach: Json, key: str, show: Callable[[float], str]) -> str:
    """A mean, and how many runs it is of where some did not get there."""
    if reach[key] is None:
        return "-"
    some = "" if reach["reached"] == reach["of"] else f" ({reach['reached']}/{reach['of']})"
    return f"{show(reach[key]['mean'])}{some}"


def _show_saved(gain: Json | None, key: str) -> str:
    return "" if gain is None else f"{round(100 * gain[key])} %"


def _show_number(value: int | None) -> str:
    return "-" if value is None else str(value)
