"""Accuracy at every cut layer: how it grows with the epochs, and which cuts come near the best."""

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
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

MOST_NAMED = 8
"""More cuts are told apart by a colour scale, and only the best shows its spread."""
MOST_MARKED = 16
"""Of more cuts or epochs, not all are written at their axis."""
TITLE_ROOM = 380.0
"""How wide a title may be, in points."""
KEPT, LEFT, LIMIT = PALETTE["blue"], PALETTE["grey"], PALETTE["vermillion"]


def plot_cuts(probe: dict[str, Any], path: Path) -> None:
    """Plot accuracy against epochs and against the cut, and write the figure to `path`.

    The keys are model, clients, held_out, cuts, accuracy, spread, scores, threshold, candidates.
    """
    if not probe["cuts"]:
        raise InputError("the probe has no cuts to plot")
    figure, left = new_plot("", "epoch", "accuracy on held-out examples, %")
    figure.set_size_inches(11.0, 5.0)
    grid = figure.add_gridspec(1, 2, width_ratios=(1.1, 1.0))
    left.set_subplotspec(grid[0])
    right = figure.add_subplot(grid[1])
    clients = len(probe["clients"])
    title = f"{probe['model']}: {clients} client{'s' * (clients > 1)} alone at every cut"
    left.set_title(fit(title, TITLE_ROOM, 13), loc="left", fontsize=13, parse_math=False)
    _draw_epochs(figure, left, probe)
    _draw_scores(right, probe)
    save_plot(figure, path)


def _draw_epochs(figure: Figure, axes: Axes, probe: dict[str, Any]) -> None:
    """A line per cut, from shallow to deep; the band is one standard deviation over clients."""
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize

    cuts, accuracy, spread = probe["cuts"], _percent(probe["accuracy"]), _percent(probe["spread"])
    scale = Normalize(min(cuts), max(*cuts, min(cuts) + 1))
    # Without its last tenth, which is a yellow that white paper swallows.
    dark = ListedColormap(colormaps["viridis"](np.linspace(0, 0.9, 256)))
    colours = ScalarMappable(scale, dark)
    few, best = len(cuts) <= MOST_NAMED, int(np.argmax(probe["scores"]))
    epochs = np.arange(1, accuracy.shape[1] + 1)
    for row, cut in enumerate(cuts):
        colour = colours.to_rgba(cut)
        axes.plot(
            epochs,
            accuracy[row],
            color=colour,
            marker="o",
            markersize=4 if few else 2,
            linewidth=1.8 if few or row == best else 0.9,
            label=f"v = {cut}",
        )
        if few or row == best:
            low, high = accuracy[row] - spread[row], accuracy[row] + spread[row]
            axes.fill_between(epochs, low, high, color=colour, alpha=0.15, linewidth=0)
    _mark_whole_numbers(axes, epochs.tolist())
    if few:
        axes.legend(frameon=False, fontsize=9)
    else:
        figure.colorbar(colours, ax=axes, label=f"cut layer v (band: v = {cuts[best]})", pad=0.01)


def _draw_scores(axes: Axes, probe: dict[str, Any]) -> None:
    """A point per cut with its spread, and the line that candidates are not below."""
    cuts, scores = np.array(probe["cuts"]), _percent(probe["scores"])
    spread = _percent(probe["spread"]).mean(axis=1)
    kept = np.isin(cuts, probe["candidates"])
    for chosen, colour, label in ((kept, KEPT, "candidate"), (~kept, LEFT, "not kept")):
        if chosen.any():
            axes.errorbar(
                cuts[chosen],
                scores[chosen],
                spread[chosen],
                color=colour,
                fmt="o" if colour == KEPT else "s",
                markerfacecolor=colour if colour == KEPT else "white",
                capsize=3,
                elinewidth=1,
                label=label,
            )
    limit = scores.max() - probe["threshold"]
    axes.axhline(limit, color=LIMIT, linestyle="--", linewidth=1.2, label="best less threshold")
    title = f"within {probe['threshold']:g} points of the best: {kept.sum()} of {len(cuts)} cuts"
    axes.set_title(title, loc="left", fontsize=11)
    axes.set_xlabel("cut layer v")
    axes.set_ylabel("acc(v), mean over epochs, %")
    axes.margins(x=0.08)
    _mark_whole_numbers(axes, probe["cuts"])
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#d3d9e0", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.legend(frameon=False, fontsize=9)


def _mark_whole_numbers(axes: Axes, numbers: list[int]) -> None:
    """All of them if there is room; between two, a mark would mean nothing."""
    if len(numbers) <= MOST_MARKED:
        axes.set_xticks(numbers)
    else:
        axes.locator_params(axis="x", integer=True)


def _percent(shares: list[Any]) -> Floats:
    return 100 * np.array(shares, dtype=np.float64)
