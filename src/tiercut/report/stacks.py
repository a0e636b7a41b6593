"""Bytes of a round by what they carry: a stacked bar per scheme."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tiercut.report.marks import NAME_ROOM, TITLE_ROOM
from tiercut.report.plots import new_plot, save_plot
from tiercut.report.summary import Summary
from tiercut.report.svg import fit
from tiercut.report.traffic import COLOURS, KINDS, Traffic
from tiercut.units import show_size


def plot_traffic(summary: Summary, traffic: Sequence[Traffic], path: Path) -> None:
    """Plot the bytes of every scheme's round, and write the figure to `path`."""
    figure, axes = new_plot(fit(f"{summary.name}: bytes of a round", TITLE_ROOM, 13), "", "")
    axes.grid(axis="y", visible=False)
    rows = range(len(traffic))
    start = [0.0] * len(traffic)
    for kind, (meaning, _) in KINDS.items():
        sizes = [one.parts[kind] for one in traffic]
        if any(sizes):
            axes.barh(rows, sizes, left=start, color=COLOURS[kind], height=0.62, label=meaning)
        start = [at + size for at, size in zip(start, sizes, strict=True)]
    for row, total in zip(rows, start, strict=True):
        axes.annotate(
            show_size(total), (total, row), (5, 0), textcoords="offset points", va="center"
        )
    names = axes.set_yticks(
        rows, [fit(summary.title(one.scheme), NAME_ROOM, 10) for one in traffic]
    )
    for name in names:
        name.label1.set_parse_math(False)
    axes.invert_yaxis()
    axes.margins(x=0.14)
    axes.xaxis.set_major_formatter(lambda value, _: show_size(value) if value else "0")
    axes.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.08), fontsize=9)
    save_plot(figure, path)
