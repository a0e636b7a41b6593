"""What a scheme saves over others on the way to each target: a bar per rival and target."""

from __future__ import annotations

from pathlib import Path

from tiercut.report.marks import COLOURS, NAME_ROOM, TITLE_ROOM, looks_of
from tiercut.report.plots import new_plot, save_plot
from tiercut.report.summary import Cost, Summary
from tiercut.report.svg import fit
from tiercut.report.wording import NOUNS, percent

ROOM = 0.8
"""Of the space for a target, what its bars fill."""
UNKNOWN_LOOK = 6


def plot_gains(summary: Summary, path: Path, cost: Cost) -> None:
    """Plot what is saved of a cost, and write the figure to `path`."""
    noun = NOUNS[cost]
    who = " and ".join(dict.fromkeys(summary.title(scheme) for scheme, _ in summary.rivals()))
    title = fit(f"{summary.name}: {noun} saved by {who}", TITLE_ROOM, 13)
    figure, axes = new_plot(title, "accuracy", f"{noun} saved")
    targets = sorted({gain.target for gain in summary.gains})
    rivals, looks = list(summary.rivals()), looks_of(list(summary.schemes))
    for i, (scheme, rival) in enumerate(rivals):
        found = [(j, summary.gain(scheme, rival, target)) for j, target in enumerate(targets)]
        shares = {j: getattr(gain, cost) for j, gain in found if gain is not None}
        shares = {j: share for j, share in shares.items() if share is not None}
        axes.bar(
            [j + ROOM * ((i + 0.5) / len(rivals) - 0.5) for j in shares],
            list(shares.values()),
            width=0.9 * ROOM / len(rivals),
            color=COLOURS[looks.get(rival, UNKNOWN_LOOK)],
            label=fit(f"over {summary.title(rival)}", NAME_ROOM, 10),
        )
    axes.axhline(0, color="#15191e", linewidth=0.8)
    axes.grid(axis="x", visible=False)
    axes.set_xticks(range(len(targets)), [percent(target) for target in targets])
    axes.tick_params(axis="x", length=0)
    axes.yaxis.set_major_formatter(lambda value, _: percent(value))
    for text in axes.legend(frameon=False, loc="best").get_texts():
        text.set_parse_math(False)
    save_plot(figure, path)
