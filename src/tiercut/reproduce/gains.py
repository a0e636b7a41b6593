"""What our options reach at the accuracies of Table III: the least delay and the least traffic.

Against rivals as published (Figures 4 to 7) and against rivals at their best (the tuned, swift,
brisk, free, small, fine and lean versions of these figures).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from tiercut.measure.results import Results
from tiercut.reproduce.contest import (
    STUDIES,
    Figure,
    Reader,
    Way,
    figures_in,
    least,
    ways_of_ours,
    ways_of_rivals,
)
from tiercut.reproduce.figures_4_to_7 import AA, TUNED, targets_of
from tiercut.reproduce.fine import FINE
from tiercut.reproduce.free import FREE
from tiercut.reproduce.lean import LEAN
from tiercut.reproduce.paper_curves import TABLE_III, PrintedGain
from tiercut.reproduce.results import Cell, Table
from tiercut.reproduce.savings import percent_saved
from tiercut.reproduce.settings import TITLES
from tiercut.reproduce.small import SMALL
from tiercut.reproduce.swift import SWIFT
from tiercut.reproduce.trained import read_runs

NAME = "gains"
METHOD = (
    "Made from the runs of Figures 4 to 7 and of their tuned, swift, brisk, free, small, fine and"
    " lean versions; trains nothing.",
    "Of ours the one with the least delay, or the least traffic, at that accuracy is taken: AA"
    " HSFL-ll, AA HSFL-ll with our options (best, swift, brisk, free, small, fine), or with the"
    " fewest bytes (lean).",
    "As published, the rivals are those of the figure; at their best, those of the other versions,"
    " with the same options as ours.",
    "The rival is the one with the least delay, or the least traffic, which may be two.",
    "A gain is there only where every seed of both reached the accuracy, and a negative one is a"
    " loss; else the table says who reached it alone, or nobody.",
)
TRAFFIC_METHOD = (
    "The paper names one rival, the fastest, and counts its traffic: `traffic of the fastest` does"
    " so, with the fastest of ours.",
)


@dataclass(frozen=True)
class Kind:
    """What is saved, and by whom."""

    saved: str
    """A field of Cost."""
    least: str
    """The field of Cost by which the best of either side is taken."""
    printed: Callable[[PrintedGain], float]
    """What the paper claims to save."""
    at_best: tuple[str, ...]
    """The versions of a figure in which rivals are at their best; one of them has to be there."""


FREELY_TUNED = (FREE, SMALL, FINE)
"""In these every rival has the cut and the options that suit it best."""
AT_BEST = (TUNED, SWIFT, *FREELY_TUNED)
KINDS = {
    "delay": Kind("delay", "delay", lambda paper: paper.delay, AT_BEST),
    "traffic": Kind("traffic", "traffic", lambda paper: paper.overhead, (LEAN,)),
    "traffic of the fastest": Kind("traffic", "delay", lambda paper: paper.overhead, AT_BEST),
}
NOBODY: tuple[Cell, Cell] = (None, None)
"""The gain over rivals at their best, and who they are, where none is there."""
COLUMNS = (
    "model",
    "accuracy (%)",
    "gain in",
    "paper (%)",
    "AA HSFL-ll over rivals as published (%)",
    "ours over rivals as published (%)",
    "rival",
    "ours over rivals at their best (%)",
    "rival at its best",
)


def make(output: Path) -> Table:
    """The table, for those of the figures whose runs are in `output`."""
    title = "Gains: as published, and with every rival at its best"
    return tabulate(output, read_runs, title, (*METHOD, *TRAFFIC_METHOD), tuple(KINDS))


def tabulate(
    output: Path, read: Reader, title: str, method: tuple[str, ...], kinds: tuple[str, ...]
) -> Table:
    """The gains of some `kinds`, for those of the figures of which `read` finds runs."""
    figures = figures_in(output, read)
    known = [one for one in figures if one.published is not None]
    return Table(
        title=title,
        method=method,
        columns=COLUMNS,
        rows=tuple(row for figure in known for row in _rows(figure, kinds)),
        differences=tuple(_missing(figures, kinds)),
        seeds=tuple(
            sorted({s for one in known if one.published for s in one.published.manifest.seeds})
        ),
    )


def _rows(figure: Figure, kinds: Iterable[str]) -> list[tuple[Cell, ...]]:
    return [_row(figure, target, kind) for target in targets_of(figure.model) for kind in kinds]


def _row(figure: Figure, target: float, kind: str) -> tuple[Cell, ...]:
    assert figure.published is not None
    what = KINDS[kind]
    published = ways_of_rivals([figure.published], target)
    at_best = ways_of_rivals(figure.beyond.values(), target)
    as_printed = ways_of_ours([figure.published], target, (AA,))
    ours = ways_of_ours(figure.known, target)
    return (
        TITLES[figure.model],
        100 * target,
        kind,
        what.printed(TABLE_III[figure.model, target]),
        _gain(as_printed, published, what),
        _gain(ours, published, what),
        _title(published, what),
        *(
            (_gain(ours, at_best, what), _title(at_best, what))
            if _has_best(figure, kind)
            else NOBODY
        ),
    )


def _has_best(figure: Figure, kind: str) -> bool:
    """Whether rivals are there at their best in this kind."""
    return any(version in figure.beyond for version in KINDS[kind].at_best)


def _gain(ours: list[Way], theirs: list[Way], what: Kind) -> Cell:
    mine, rival = least(ours, what.least), least(theirs, what.least)
    if mine is None:
        return None if rival is None else "rival alone"
    if rival is None:
        return "ours alone"
    return percent_saved(getattr(mine.cost, what.saved), getattr(rival.cost, what.saved))


def _title(ways: list[Way], what: Kind) -> str | None:
    first = least(ways, what.least)
    return None if first is None else first.title


def _missing(figures: Iterable[Figure], kinds: Iterable[str]) -> list[str]:
    sentences = []
    for figure in figures:
        if figure.published is None:
            name = f"`tiercut reproduce figure-{figure.number}`"
            sentences.append(f"{TITLES[figure.model]} is missing: no {name}.")
        else:
            sentences += _needs(figure, [kind for kind in kinds if not _has_best(figure, kind)])
            sentences += _half_tuned(figure)
            sentences += [
                _unfinished(f"figure-{figure.number}{version}", results)
                for version, results in figure.beyond.items()
                if not all(one.is_complete for one in results.contenders)
            ]
    return sentences


def _half_tuned(figure: Figure) -> list[str]:
    """Where rivals have our options and nobody has looked for their best cut."""
    if not figure.beyond or any(version in figure.beyond for version in FREELY_TUNED):
        return []
    return [
        f"{TITLES[figure.model]}: rivals have our options here, at the cut of their fastest round,"
        f" and may do better at their best one; that needs"
        f" {' or '.join(_commands(figure, FREELY_TUNED))}."
    ]


def _needs(figure: Figure, kinds: Iterable[str]) -> list[str]:
    """What is missing to compare these kinds, in one sentence for all that need the same."""
    needing: dict[tuple[str, ...], list[str]] = {}
    for kind in kinds:
        needing.setdefault(KINDS[kind].at_best, []).append(kind)
    return [
        f"{TITLES[figure.model]} is not compared in {' or '.join(those)} with rivals at their best:"
        f" that needs"
        f" {' or '.join(_commands(figure, versions))}."
        for versions, those in needing.items()
    ]


def _commands(figure: Figure, versions: Iterable[str]) -> list[str]:
    names = [f"figure-{figure.number}{version}" for version in versions]
    return [f"`tiercut reproduce {name}`" for name in names if name in STUDIES]


def _unfinished(name: str, results: Results) -> str:
    late = [one.title for one in results.contenders if not one.is_complete]
    return (
        f"{name} is not finished: {', '.join(late)} may reach an accuracy with less than is"
        f" shown here."
    )
