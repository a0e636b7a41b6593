"""With how little an accuracy of Table III is reached: by ours and by the best rival, and how.

Of all versions of a figure, so that it says which scenario to take.
"""

from __future__ import annotations

from pathlib import Path

from tiercut.reproduce.contest import Figure, Way, figures_in, least, ways_of_ours, ways_of_rivals
from tiercut.reproduce.figures_4_to_7 import targets_of
from tiercut.reproduce.readings import GIGABYTE
from tiercut.reproduce.results import Cell, Table
from tiercut.reproduce.settings import TITLES
from tiercut.reproduce.trained import read_runs

NAME = "least"
QUANTITIES = {"seconds": ("delay", 1.0), "GB": ("traffic", GIGABYTE)}
"""The field of Cost, and what it is divided by."""
METHOD = (
    "Made from the runs of Figures 4 to 7 and of all their versions; trains nothing.",
    "Ours is AA HSFL-ll, with our options or without; the rival is the one with the least.",
    "Seconds are virtual: those of the paper's equations on its fleet; the mean over the seeds, all"
    " of which reached the accuracy.",
    "A scenario is the file of that name; what a scheme has of its own beside it, a cut or a rate,"
    " is in the table of the figure that trains it.",
)
COLUMNS = (
    "model",
    "accuracy (%)",
    "quantity",
    "ours",
    "scenario",
    "best rival",
    "rival",
    "its scenario",
)


def make(output: Path) -> Table:
    """The table, for those of the figures whose runs are in `output`."""
    figures = [one for one in figures_in(output, read_runs) if one.known]
    return Table(
        title="The least delay and the least traffic to an accuracy",
        method=METHOD,
        columns=COLUMNS,
        rows=tuple(row for figure in figures for row in _rows(figure)),
        differences=(),
        seeds=tuple(sorted({seed for one in figures for seed in _seeds(one)})),
    )


def _seeds(figure: Figure) -> set[int]:
    return {seed for results in figure.known for seed in results.manifest.seeds}


def _rows(figure: Figure) -> list[tuple[Cell, ...]]:
    return [
        (TITLES[figure.model], 100 * target, quantity, *_cells(figure, target, quantity))
        for target in targets_of(figure.model)
        for quantity in QUANTITIES
    ]


def _cells(figure: Figure, target: float, quantity: str) -> tuple[Cell, ...]:
    field, unit = QUANTITIES[quantity]
    ours = least(ways_of_ours(figure.known, target), field)
    rival = least(ways_of_rivals(figure.known, target), field)

    def amount(way: Way | None) -> float | None:
        return None if way is None else getattr(way.cost, field) / unit

    return (
        amount(ours),
        None if ours is None else ours.scenario,
        amount(rival),
        None if rival is None else rival.title,
        None if rival is None else rival.scenario,
    )
