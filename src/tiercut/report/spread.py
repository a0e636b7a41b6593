"""Who has what: a column per client, a row per label, and above it how many examples each has."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tiercut.errors import InputError
from tiercut.report.plots import new_plot, save_plot
from tiercut.report.svg import PALETTE, fit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_NAMED = 15
"""More clients are numbered instead."""
MOST_LABELS = 30
"""More labels are numbered instead."""
MOST_CELLS_WRITTEN = 150
"""In more cells than this, numbers would be too small to read."""
GAP, HEIGHT = 0.03, 0.22
"""Of the sizes above the labels, in heights of the latter."""
NAME_ROOM = 90.0
"""How wide a name may be, in points."""


def plot_spread(spread: dict[str, Any], path: Path) -> None:
    """Plot the label counts of every client, and write the figure to `path`.

    The keys are data, partition, classes, and clients with name, examples and labels.
    """
    clients = spread["clients"]
    if not clients:
        raise InputError("there are no clients to plot")
    counts = np.array([client["labels"] for client in clients], dtype=np.int64).T
    labels, columns = counts.shape
    figure, axes = new_plot("", "client", "label")
    # Above the sizes, which are above the axes: a title of the axes' own would lie across them.
    title = f"{spread['data']}, {spread['partition']}: who has what"
    axes.set_title(title, loc="left", y=1 + GAP + HEIGHT, fontsize=13, parse_math=False)
    axes.grid(visible=False)
    image = axes.imshow(
        counts,
        cmap="Blues",
        aspect="auto",
        vmin=0,
        interpolation="nearest",
        extent=(0.5, columns + 0.5, labels - 0.5, -0.5),  # clients count from 1
    )
    figure.colorbar(image, label="examples", pad=0.01)
    _name_rows(axes, spread["classes"])
    _name_columns(axes, [client["name"] for client in clients])
    if counts.size <= MOST_CELLS_WRITTEN:
        _write_numbers(axes, counts)
    _draw_sizes(axes.inset_axes((0.0, 1 + GAP, 1.0, HEIGHT)), counts.sum(axis=0))
    figure.draw_without_rendering()  # the title's height is in those of the axes: laid out twice
    save_plot(figure, path)


def _name_rows(axes: Axes, classes: list[str]) -> None:
    if len(classes) <= MOST_LABELS:
        names = [fit(name, NAME_ROOM, 8) for name in classes]
        axes.set_yticks(range(len(classes)), names, fontsize=8, parse_math=False)


def _name_columns(axes: Axes, names: list[str]) -> None:
    if len(names) <= MOST_NAMED:
        shown = [fit(name, NAME_ROOM, 8) for name in names]
        axes.set_xticks(
            range(1, len(names) + 1), shown, rotation=45, ha="right", fontsize=8, parse_math=False
        )
    else:
        axes.locator_params(axis="x", integer=True)
        axes.set_xlabel("client, in the fleet's order")


def _write_numbers(axes: Axes, counts: NDArray[np.int64]) -> None:
    for (row, column), count in np.ndenumerate(counts):
        if count:
            colour = "white" if count > 0.6 * counts.max() else "black"
            axes.text(
                column + 1, row, str(count), ha="center", va="center", fontsize=7, color=colour
            )


def _draw_sizes(axes: Axes, sizes: NDArray[np.int64]) -> None:
    """A step per client: bars that touch, so that a thousand of them are still a shape."""
    axes.stairs(sizes, np.arange(len(sizes) + 1) + 0.5, fill=True, color=PALETTE["grey"])
    axes.set_xlim(0.5, len(sizes) + 0.5)
    axes.set_ylim(0, 1.1 * sizes.max())
    axes.set_xticks([])
    axes.set_ylabel("examples", fontsize=8)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
