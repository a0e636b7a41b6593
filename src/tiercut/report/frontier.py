"""The best trades between a round's delay, its bytes and the number of aggregators, as a plot."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tiercut.errors import InputError
from tiercut.report.plots import new_plot, save_plot
from tiercut.report.svg import PALETTE
from tiercut.report.ticks import show_tick, time_ticks
from tiercut.units import show_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_NUMBERED = 40
"""More points are drawn smaller, without a number inside."""
LARGE, SMALL = 8.0, 4.0
LABEL_HEIGHT, CHARACTER_WIDTH = 9.0, 5.0
DISTANCES = (16.0, 26.0, 38.0, 52.0)
"""How far from its point a label may be; all lengths are in points, 1/72 inch."""


def plot_frontier(points: list[dict[str, Any]], path: Path) -> None:
    """Plot delay against bytes; a point's colour and number are its aggregators, its label (h, v).

    The keys of a point are round_seconds, bytes, aggregators, aggregator_layer and cut_layer.
    Labels for which there is no room are left out, and counted.
    """
    if not points:
        raise InputError("the frontier has no points to plot")
    figure, axes = new_plot("Pareto frontier of plans", "delay of a round", "bytes of a round")
    radius = LARGE if len(points) <= MOST_NUMBERED else SMALL
    aggregators = [point["aggregators"] for point in points]
    dots = axes.scatter(
        [point["round_seconds"] for point in points],
        [point["bytes"] for point in points],
        c=aggregators,
        s=(2 * radius) ** 2,
        edgecolors="white",
        cmap="cividis",
        zorder=3,
    )
    figure.colorbar(dots, label="aggregators", ticks=_whole_numbers(aggregators))
    _set_scales(axes)
    if radius == LARGE:
        _number(axes, points)
    figure.draw_without_rendering()  # only now are places on the paper known
    left_out = _label(axes, points, radius)
    _explain(axes, left_out)
    save_plot(figure, path)


def _whole_numbers(counts: Sequence[int], most: int = 6) -> list[int]:
    low, high = min(counts), max(counts)
    return list(range(low, high + 1, max(1, -(-(high - low) // most))))


def _set_scales(axes: Axes) -> None:
    """Axes with room around the points, marked in units that people read."""
    axes.margins(0.12)
    axes.set_xticks(time_ticks(max(0.0, axes.get_xlim()[0]), axes.get_xlim()[1], most=6))
    axes.xaxis.set_major_formatter(lambda seconds, _: show_tick(seconds))
    axes.yaxis.set_major_formatter(lambda size, _: show_size(size))


class Box(NamedTuple):
    """A rectangle on the paper."""

    left: float
    bottom: float
    right: float
    top: float

    @classmethod
    def around(cls, x: float, y: float, width: float, height: float) -> Box:
        """The box with this middle."""
        return cls(x - width / 2, y - height / 2, x + width / 2, y + height / 2)

    def inside(self, other: Box) -> bool:
        """Whether this box lies within another."""
        return (
            other.left <= self.left
            and self.right <= other.right
            and other.bottom <= self.bottom
            and self.top <= other.top
        )

    def meets(self, other: Box) -> bool:
        """Whether two boxes overlap."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.bottom < other.top
            and other.bottom < self.top
        )


def _number(axes: Axes, points: list[dict[str, Any]]) -> None:
    """Write the number of aggregators into every point."""
    counts = [point["aggregators"] for point in points]
    middle = (min(counts) + max(counts)) / 2
    for point in points:
        axes.annotate(
            str(point["aggregators"]),
            (point["round_seconds"], point["bytes"]),
            ha="center",
            va="center",
            fontsize=7,
            color="black" if point["aggregators"] > middle else "white",
            zorder=4,
        )


def _label(axes: Axes, points: list[dict[str, Any]], radius: float) -> int:
    """Write (h, v) where it covers no point and no other label; returns how many found no room."""
    scale = 72 / axes.figure.dpi
    paper = Box(*(edge * scale for edge in axes.bbox.extents))
    pixels = axes.transData.transform([(p["round_seconds"], p["bytes"]) for p in points])
    places = [(x * scale, y * scale) for x, y in pixels.tolist()]
    taken = [Box.around(x, y, 2 * radius, 2 * radius) for x, y in places]
    left_out = 0
    for point, (x, y) in zip(points, places, strict=True):
        text = f"({point['aggregator_layer']}, {point['cut_layer']})"
        for right, up in _directions():
            box = Box.around(x + right, y + up, CHARACTER_WIDTH * len(text), LABEL_HEIGHT)
            if box.inside(paper) and not any(box.meets(other) for other in taken):
                taken.append(box)
                _annotate(axes, point, text, (right, up))
                break
        else:
            left_out += 1
    return left_out


def _directions() -> Iterator[tuple[float, float]]:
    """Where a label may be, seen from its point; the best places first."""
    for distance in DISTANCES:
        for eighth in (1, 3, 7, 5, 2, 6, 0, 4):
            angle = eighth * math.pi / 4
            # Labels are wider than high, so they need more distance sideways.
            yield 1.4 * distance * math.cos(angle), distance * math.sin(angle)


def _annotate(axes: Axes, point: dict[str, Any], text: str, offset: tuple[float, float]) -> None:
    axes.annotate(
        text,
        (point["round_seconds"], point["bytes"]),
        offset,
        textcoords="offset points",
        ha="center",
        va="center",
        fontsize=8,
        zorder=2,
        arrowprops={"arrowstyle": "-", "color": PALETTE["grey"], "linewidth": 0.6},
    )


def _explain(axes: Axes, left_out: int) -> None:
    """Say in the upper right corner, which a frontier leaves empty, what the labels are."""
    note = "(h, v): aggregator layer, cut layer"
    if left_out:
        note += f"\n{left_out} labels are left out"
    axes.annotate(
        note,
        (0.99, 0.99),
        xycoords="axes fraction",
        ha="right",
        va="top",
        fontsize=8,
        color="#5a6470",
    )
