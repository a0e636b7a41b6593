"""Table III: what AA HSFL-ll saves on the way to an accuracy, from the runs of Figures 4 to 7."""

from __future__ import annotations

from pathlib import Path

from tiercut.errors import InputError
from tiercut.measure.results import Results
from tiercut.reproduce.figures_4_to_7 import AA, BEST, MODELS, judge, targets_of
from tiercut.reproduce.paper_curves import TABLE_III
from tiercut.reproduce.results import Cell, Table
from tiercut.reproduce.savings import saving
from tiercut.reproduce.settings import TITLES
from tiercut.reproduce.trained import read_runs

NAME = "table-iii"


def make(output: Path) -> Table:
    """The table, for those of the figures whose runs are in `output`."""
    found = {
        number: results
        for number in MODELS
        if (results := read_runs(output / f"figure-{number}")) is not None
    }
    if not found:
        raise InputError(
            f"{output}: there are no runs of Figures 4 to 7, which Table III is made from; train"
            f" them with `tiercut reproduce figure-4` and so on"
        )
    rows: list[tuple[Cell, ...]] = []
    differences = [
        f"{TITLES[model]} is missing: `tiercut reproduce figure-{number}` has not been run."
        for number, model in MODELS.items()
        if number not in found
    ]
    for number, results in found.items():
        model = MODELS[number]
        rows += _rows(results, model)
        differences += [f"{TITLES[model]}: {text}" for text in judge(results, model)]
    return Table(
        title="Table III: gains at accuracy targets",
        method=(
            "Made from the runs of Figures 4 to 7; trains nothing.",
            "The rival is the fastest of SFL, Multihop SFL, LocSFL, DTFL as published, and DTFL"
            " that knows that the server is shared (contended).",
            "Overhead is against that same rival, as in the paper's text, and in the last column"
            " against the rival with the least.",
            "A gain is there only where every seed of both reached the target; a negative one is a"
            " loss.",
            "The rivals do not have the options of `AA HSFL-ll, best` here; the tuned versions of"
            " the figures give them to all.",
        ),
        columns=(
            "model",
            "target (%)",
            "scheme",
            "delay gain (%), paper",
            "delay gain (%), ours",
            "over",
            "overhead gain (%), paper",
            "overhead gain (%), ours",
            "over the least overhead (%)",
        ),
        rows=tuple(rows),
        differences=tuple(differences),
        seeds=tuple(sorted({seed for one in found.values() for seed in one.manifest.seeds})),
    )


def _rows(results: Results, model: str) -> list[tuple[Cell, ...]]:
    rows: list[tuple[Cell, ...]] = []
    for target in targets_of(model):
        printed = TABLE_III[model, target]
        for name in (AA, BEST):
            saved = saving(results, name, target)
            paper = (printed.delay, printed.overhead) if name == AA else (None, None)
            rows.append(
                (
                    TITLES[model],
                    100 * target,
                    results.manifest.titles[name],
                    paper[0],
                    None if saved is None else saved.delay,
                    None if saved is None else saved.over,
                    paper[1],
                    None if saved is None else saved.overhead,
                    None if saved is None else saved.least_overhead,
                )
            )
    return rows
