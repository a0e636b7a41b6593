"""Tuning on the command line: every setting trained, the best of each scheme told and kept."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import typer

from tiercut.cli.compare import saying_how_to_go_on
from tiercut.cli.progress import counting
from tiercut.cli.train import cluster_for
from tiercut.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tiercut.cli.place import Place
    from tiercut.cluster.workers import Workers
    from tiercut.compare.comparison import Comparison
    from tiercut.compare.runs import Part
    from tiercut.compare.tuning import Trial
    from tiercut.measure.tuning import Aim, Found, Settings


@dataclass(frozen=True)
class Tuned:
    """What tuning came to."""

    found: Mapping[str, Found]
    aim: Aim
    document: dict[str, Any]
    """tuning.json."""
    output: Path

    def show(self) -> None:
        """As a table for a person."""
        from tiercut.cli.tuning_table import show_tuning

        labels = dict.fromkeys(label for one in self.found.values() for label in one.tried)
        show_tuning(self.found, labels, self.aim)
        typer.echo(f"everything is in {self.output}")

    def refuse_hopeless(self) -> None:
        """Say so where a scheme has no best setting."""
        hopeless = [name for name, one in self.found.items() if one.best is None]
        if not hopeless:
            return
        first, target = hopeless[0], self.aim.target
        if target is None or all(t.accuracy is None for t in self.found[first].tried.values()):
            raise InputError(f"{first} did not get to its end in any setting; try lower --rates")
        raise InputError(
            f"{first} did not reach {100 * target:g} % in any setting; give more --rounds, or"
            f" a lower target"
        )


def carry_out(
    wanted: Comparison, settings: Mapping[str, Settings], aim: Aim, output: Path, place: Place
) -> Tuned:
    """Train every scheme of a comparison in all its settings, and write tuning.json."""
    from tiercut.compare.tuning import trials

    wanted = replace(wanted, until=aim.target)  # then it is known what that takes
    tried = trials(wanted, settings)
    engine = wanted.scenario.engine
    with saying_how_to_go_on(), cluster_for(engine), place.workers(engine) as workers:
        _train(tried, output, workers)
    return look(settings, aim, output)


def look(settings: Mapping[str, Settings], aim: Aim, output: Path) -> Tuned:
    """What the runs in a folder came to; tuning.json is written anew."""
    from tiercut.documents import to_json, write_text
    from tiercut.measure.manifest import read_manifest
    from tiercut.measure.tuning import FILE, read_tuning, to_document

    found = read_tuning(output, settings, aim)
    label = next(iter(next(iter(found.values())).tried))
    document = to_document(found, aim, read_manifest(output / label).command)
    write_text(output / FILE, to_json(document))
    return Tuned(found, aim, document, output)


def _train(tried: Mapping[str, Trial], output: Path, workers: Workers) -> None:
    from tiercut.cli.comparison_progress import watching_runs
    from tiercut.compare.runs import run_comparisons

    parts = _check(tried, output)
    with watching_runs() as watcher:
        run_comparisons(parts, keep="rounds", watcher=watcher, workers=workers)


def _check(tried: Mapping[str, Trial], output: Path) -> list[Part]:
    """What is to be trained, if all of it can be; the data are read once for all settings."""
    from tiercut.compare.check import check_comparison
    from tiercut.compare.runs import Part
    from tiercut.data import remembering

    parts, command = [], ["tiercut", *sys.argv[1:]]
    with counting("reading images") as count:
        load = remembering(count)
        for label, trial in tried.items():
            folder = output / label
            manifest = check_comparison(trial, folder, command=command, load=load)
            parts.append(Part(trial, folder, manifest))
    return parts
