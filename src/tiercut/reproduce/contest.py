"""Who is at an accuracy with the least: the versions of a figure, and everybody's ways there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tiercut.errors import InputError
from tiercut.measure.results import Results
from tiercut.reproduce import brisk, figures_4_to_7, fine, free, lean, small, swift
from tiercut.reproduce.brisk import BRISK
from tiercut.reproduce.figures_4_to_7 import AA, BEST, MODELS, TUNED
from tiercut.reproduce.fine import FINE
from tiercut.reproduce.free import FREE
from tiercut.reproduce.lean import LEAN
from tiercut.reproduce.savings import RIVALS, Cost, cost_to
from tiercut.reproduce.small import SMALL
from tiercut.reproduce.study import Study
from tiercut.reproduce.swift import SWIFT

VERSIONS = (TUNED, SWIFT, BRISK, FREE, SMALL, FINE, LEAN)
"""How those of a figure end that the paper does not have."""
STUDIES: dict[str, Study] = {
    **figures_4_to_7.STUDIES,
    **swift.STUDIES,
    **brisk.STUDIES,
    **free.STUDIES,
    **small.STUDIES,
    **fine.STUDIES,
    **lean.STUDIES,
}
"""Not every version is there of every figure."""
OURS = (AA, BEST)

Reader = Callable[[Path], Results | None]
"""Reads the runs in the folder of a figure, where there are any."""


@dataclass(frozen=True)
class Way:
    """A contender's way to an accuracy."""

    title: str
    scenario: str
    cost: Cost


@dataclass(frozen=True, eq=False)
class Figure:
    """The versions of one figure that have runs."""

    number: int
    folder: Path
    read: Reader

    @property
    def model(self) -> str:
        """What it is about."""
        return MODELS[self.number]

    @cached_property
    def published(self) -> Results | None:
        """With every rival as its paper has it."""
        return self.read(self.folder / f"figure-{self.number}")

    @cached_property
    def beyond(self) -> dict[str, Results]:
        """Those with equal options for all."""
        return {
            version: results
            for version in VERSIONS
            if (results := self.read(self.folder / f"figure-{self.number}{version}")) is not None
        }

    @property
    def known(self) -> tuple[Results, ...]:
        """All that there is."""
        published = () if self.published is None else (self.published,)
        return (*published, *self.beyond.values())


def figures_in(folder: Path, read: Reader) -> list[Figure]:
    """Figures 4 to 7, with or without runs; one at least was trained as published."""
    figures = [Figure(number, folder, read) for number in MODELS]
    if all(one.published is None for one in figures):
        raise InputError(
            f"{folder}: there are no runs of Figures 4 to 7, which this is made from; train them"
            f" with `tiercut reproduce figure-4` and so on"
        )
    return figures


def ways_of_ours(
    folders: Iterable[Results], target: float, names: Iterable[str] = OURS
) -> list[Way]:
    """How AA HSFL-ll gets there, with our options or without."""
    return _ways(folders, names, target)


def ways_of_rivals(folders: Iterable[Results], target: float) -> list[Way]:
    """How the others do."""
    return _ways(folders, RIVALS, target)


def least(ways: Iterable[Way], quantity: str) -> Way | None:
    """The way with the least of a field of Cost."""
    return min(ways, key=lambda way: getattr(way.cost, quantity), default=None)


def _ways(folders: Iterable[Results], names: Iterable[str], target: float) -> list[Way]:
    return [
        Way(results.manifest.titles[name], results.manifest.scenario.name, cost)
        for results in folders
        for name in names
        if (cost := cost_to(results, name, target)) is not None
    ]
