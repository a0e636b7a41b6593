"""Cost against the number of clients, on logarithmic axes: a straight line is a power of N."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tiercut.errors import InputError
from tiercut.report.plots import new_plot, save_plot
from tiercut.report.svg import PALETTE

MARKERS = "osD^vPX"

Points = Sequence[tuple[float, float]]


def plot_growth(
    series: dict[str, list[tuple[float, float]]],
    path: Path,
    *,
    x_label: str,
    y_label: str,
    title: str,
) -> None:
    """Plot each series of (x, y) as a line, with its slope, and write the figure to `path`."""
    _check(series)
    figure, axes = new_plot(title, x_label, y_label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    colours = list(PALETTE.values())
    for i, (name, points) in enumerate(series.items()):
        x, y = zip(*sorted(points), strict=True)
        axes.plot(
            x,
            y,
            color=colours[i % len(colours)],
            marker=MARKERS[i % len(MARKERS)],
            label=name + _slope(points),
        )
    legend = axes.legend(frameon=False)
    for text in legend.get_texts():
        text.set_parse_math(False)
    save_plot(figure, path)


def _check(series: dict[str, list[tuple[float, float]]]) -> None:
    if not series:
        raise InputError("there is nothing to plot; give at least one series")
    for name, points in series.items():
        if not points or min(min(point) for point in points) <= 0:
            raise InputError(
                f"the series {name!r} has no points or one that is not positive; logarithmic axes"
                f" have no place for it"
            )


def _slope(points: Points) -> str:
    """The power with which a series grows, fitted over all its points."""
    x, y = np.log(np.array(points)).T
    if np.ptp(x) == 0:
        return ""
    return f" (slope {np.polynomial.Polynomial.fit(x, y, 1).convert().coef[1]:.2f})"
