"""The page's charts as files, for papers and slides."""

from __future__ import annotations

from pathlib import Path

from tiercut.report.curves import AXES, plot_curves
from tiercut.report.gains import plot_gains
from tiercut.report.page.content import Content
from tiercut.report.plots import FORMATS
from tiercut.report.stacks import plot_traffic
from tiercut.report.wording import NOUNS


def draw_figures(content: Content, folder: Path) -> list[Path]:
    """Write every figure that there are values for, as SVG and as PNG; gives what was written."""
    summary, written = content.summary, []
    for suffix in FORMATS:
        if any(scheme.curve for scheme in summary.schemes.values()):
            for axis in AXES:
                written.append(folder / f"accuracy-{axis}{suffix}")
                plot_curves(summary, written[-1], axis)
        if summary.gains:
            for cost in NOUNS:
                written.append(folder / f"gains-{cost}{suffix}")
                plot_gains(summary, written[-1], cost)
        if content.traffic:
            written.append(folder / f"traffic{suffix}")
            plot_traffic(summary, content.traffic, written[-1])
    return written
