"""The table of a study: what its runs came to, with the paper's figures where it prints some.

Made from the folder of runs alone, so that it can be made again anywhere, without training.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tiercut.documents import read_json
from tiercut.errors import InputError
from tiercut.measure.decision import Decision
from tiercut.measure.manifest import manifest_path
from tiercut.measure.results import Contender, Results, read_results
from tiercut.reproduce.paper_curves import PRINTED, Row
from tiercut.reproduce.readings import GIGABYTE, effort_to, final_accuracy
from tiercut.reproduce.results import Cell, Origin, Spread, Table, to_document
from tiercut.reproduce.study import Study
from tiercut.scenario import TrainingSection

RESULTS = "results"
"""The folder of a study's runs, in the folder of the study."""
MACHINE = "machine.json"
"""What they were trained on, beside them."""
UNITS = ("rounds", "seconds", "GB")

DECISIONS: dict[str, Callable[[Decision], float | str | None]] = {
    "h": lambda decision: decision.aggregator_layer,
    "v": lambda d: d.cut_layer or ", ".join(map(str, sorted(set(d.cut_layers or ())))),
    "aggregators": lambda d: None if d.aggregator_layer is None else d.aggregators,
    "seconds per round": lambda decision: decision.round_seconds,
    "GB per round": lambda decision: decision.bytes.total / GIGABYTE,
}


def read_runs(folder: Path) -> Results | None:
    """The runs in the folder of a study, where there are any."""
    results = folder / RESULTS
    return read_results(results) if manifest_path(results).exists() else None


def document_of(study: Study, name: str, folder: Path) -> dict[str, Any]:
    """result.json of a study, from the runs in its folder."""
    results = read_results(folder / RESULTS)
    manifest = results.manifest
    versions = {key: getattr(manifest, key) for key in ("tiercut", "python", "torch")}
    origin = Origin(read_json(folder / RESULTS / MACHINE), versions)
    return to_document(tabulate(study, name, results), shlex.join(manifest.command), origin)


def tabulate(study: Study, name: str, results: Results) -> Table:
    """A row for every quantity, and the paper's above ours where it prints one."""
    if not results.begun:
        raise InputError(f"{name} has not a single round yet; train it with the same command again")
    scenario, printed = results.manifest.scenario, PRINTED.get(name, {})
    rows: list[tuple[Cell, ...]] = []
    for quantity, ours in _quantities(study, results).items():
        rows += [_row(quantity, "paper", printed[quantity], results)] if quantity in printed else []
        rows.append((quantity, "ours", *ours))
    return Table(
        title=study.title,
        method=(
            *study.method,
            f"{scenario.training.rounds} rounds of {_length_of(scenario.training)},"
            f" {scenario.training.optimiser} {scenario.training.rate:g}, batch"
            f" {scenario.training.batch}, {results.manifest.clients} clients,"
            f" {scenario.engine.precision}; the cost model is `{scenario.plan.cost}`.",
            "Cells show the mean over the seeds, and the range; a seed is a fleet, a partition and"
            " initial weights.",
        ),
        columns=("quantity", "whose", *(one.title for one in results.contenders)),
        rows=tuple(rows),
        differences=(*_unfinished(results), *study.judge(results, study.model)),
        seeds=results.manifest.seeds,
        pictures=tuple((f"Accuracy by {axis}", picture_of(axis)) for axis in study.axes),
    )


def _length_of(training: TrainingSection) -> str:
    whole = f"{training.epochs} epochs"
    portions = training.portions
    return whole if portions == 1 else f"{whole}, each over one of {portions} portions of the data"


def picture_of(axis: str) -> str:
    """The file in which accuracy is drawn against `axis`."""
    return f"accuracy-{axis}.svg"


def _quantities(study: Study, results: Results) -> dict[str, list[Cell]]:
    """Every quantity, with a cell for each contender."""
    everybody = results.contenders
    found: dict[str, list[Cell]] = {
        "final accuracy (%)": [final_accuracy(one) for one in everybody]
    }
    for target in study.targets:
        efforts = [effort_to(one, target) for one in everybody]
        for unit in UNITS:
            found[f"{unit} to {100 * target:g} %"] = [effort[unit] for effort in efforts]
    for quantity, read in DECISIONS.items():
        found[quantity] = [_decided(one, read) for one in everybody]
    return {**found, **(_own(results) if study.tuning else {})}


def _own(results: Results) -> dict[str, list[Cell]]:
    """How contenders train, where tuning made them differ in it; their cuts are in the plans."""
    manifest, found = results.manifest, {}
    keys = dict.fromkeys(key for own in manifest.overrides.values() for key in own)
    for key in keys:
        section, _, name = key.partition(".")
        if section != "training":
            continue
        usual = getattr(manifest.scenario.training, name)
        values = [
            manifest.overrides.get(one.name, {}).get(key, usual) for one in results.contenders
        ]
        if len(set(values)) > 1:
            found[name.replace("_", " ")] = list(map(_as_written, values))
    return found


def _as_written(value: Any) -> Cell:
    """What was chosen, in words: two digits after the point would make a learning rate 0."""
    return f"{value:g}" if isinstance(value, float) else value


def _decided(contender: Contender, read: Callable[[Decision], float | str | None]) -> Cell:
    """What the plans of the seeds say; all of it where they say it in words."""
    decisions = [run.decision for run in contender.runs if run.decision is not None]
    values = [value for decision in decisions if (value := read(decision)) is not None]
    numbers = [value for value in values if not isinstance(value, str)]
    if len(numbers) < len(values):
        return "; ".join(dict.fromkeys(map(str, values)))
    return Spread.of(numbers) if numbers else None


def _row(quantity: str, whose: str, by_name: Row, results: Results) -> tuple[Cell, ...]:
    return (quantity, whose, *(by_name.get(one.name) for one in results.contenders))


def _unfinished(results: Results) -> list[str]:
    """Which runs are not at their end; nothing where all are."""
    short = [
        f"{one.title} from seed {run.seed} ({len(run.points)} of {one.rounds} rounds)"
        for one in results.contenders
        for run in one.runs
        if len(run.points) < one.rounds
    ]
    return [f"Not finished: {', '.join(short)}."] if short else []
