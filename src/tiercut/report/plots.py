"""What the plots share: a figure that belongs to nobody else, and writing it to a file.

matplotlib takes a noticeable part of a second to load, so it is imported only when a plot is made;
its pyplot, which keeps figures in global state, is not used at all.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from tiercut.documents import write_bytes
from tiercut.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".svg", ".png")


def new_plot(title: str, x_label: str, y_label: str) -> tuple[Figure, Axes]:
    """An empty figure with its axes; the words are shown as they are, dollar signs and all."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 5.0), layout="constrained")
    axes = figure.subplots()
    axes.set_title(title, loc="left", fontsize=13, parse_math=False)
    axes.set_xlabel(x_label, parse_math=False)
    axes.set_ylabel(y_label, parse_math=False)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#d3d9e0", linewidth=0.6)
    axes.set_axisbelow(True)
    return figure, axes


def save_plot(figure: Figure, path: Path) -> None:
    """Write a figure whole or not at all, in the format that the file's name asks for."""
    from matplotlib import rc_context

    check_format(path)
    # Without dates and random identifiers the same plot gives the same file.
    metadata = {"Date": None} if path.suffix.lower() == ".svg" else None
    picture = BytesIO()
    with rc_context({"svg.hashsalt": "tiercut"}):
        figure.savefig(picture, format=path.suffix[1:].lower(), dpi=160, metadata=metadata)
    write_bytes(path, picture.getvalue())


def check_format(path: Path) -> None:
    """Refuse a file that is neither SVG nor PNG."""
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"{path}: plots are written as {' or '.join(FORMATS)}")
