"""Accuracy against time, bytes or rounds: means over seeds, with the spread as a band."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tiercut.report.marks import COLOURS, MARKERS, NAME_ROOM, TITLE_ROOM, looks_of
from tiercut.report.plots import new_plot, save_plot
from tiercut.report.summary import Summary
from tiercut.report.svg import fit
from tiercut.report.ticks import show_tick, time_ticks
from tiercut.report.wording import percent
from tiercut.units import show_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Axis = Literal["seconds", "bytes", "round"]
AXES: dict[Axis, str] = {
    "seconds": "virtual time",
    "bytes": "bytes over all links",
    "round": "round",
}
MOST_MARKS = 30


def plot_curves(summary: Summary, path: Path, axis: Axis) -> None:
    """Plot the accuracy of every scheme, and write the figure to `path`."""
    title = fit(f"{summary.name}: {summary.model}, {summary.data}", TITLE_ROOM, 13)
    figure, axes = new_plot(title, AXES[axis], "test accuracy")
    looks = looks_of(list(summary.schemes))
    for name, scheme in summary.schemes.items():
        if scheme.curve is None:
            continue
        x, band, look = getattr(scheme.curve, axis), scheme.curve.accuracy, looks[name]
        axes.fill_between(x, band.low, band.high, color=COLOURS[look], alpha=0.16, linewidth=0)
        axes.plot(
            x,
            band.mean,
            color=COLOURS[look],
            marker=MARKERS[look] if len(x) <= MOST_MARKS else None,
            markersize=5,
            label=fit(scheme.title, NAME_ROOM, 10),
        )
    for target in summary.targets:
        axes.axhline(target, color="#8a939c", linewidth=0.8, linestyle=(0, (5, 4)))
    _write_axes(axes, axis)
    if any(scheme.curve for scheme in summary.schemes.values()):
        for text in axes.legend(frameon=False, loc="lower right").get_texts():
            text.set_parse_math(False)
    save_plot(figure, path)


def _write_axes(axes: Axes, axis: Axis) -> None:
    """Numbers as people write them: 10 min, 2 GB, 75%."""
    from matplotlib.ticker import MaxNLocator

    axes.yaxis.set_major_formatter(lambda value, _: percent(value))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=7, integer=axis == "round"))
    if axis != "round":
        axes.set_xlim(left=0)
    if axis == "bytes":
        axes.xaxis.set_major_formatter(lambda value, _: show_size(value) if value else "0")
    if axis == "seconds":
        axes.set_xticks(time_ticks(0.0, axes.get_xlim()[1]))
        axes.xaxis.set_major_formatter(lambda value, _: show_tick(value))
