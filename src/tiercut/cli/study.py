"""A figure or table that needs training, on the command line: trained, tabled and drawn."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiercut.cli.compare import parse_seeds, saying_how_to_go_on
from tiercut.cli.place import Place
from tiercut.cli.progress import counting
from tiercut.cli.tuning import Tuned, carry_out, look
from tiercut.errors import MissingError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tiercut.measure.manifest import Own
    from tiercut.reproduce.stand import Wanted
    from tiercut.reproduce.study import Study
    from tiercut.reproduce.tunings import Tuning
    from tiercut.scenario import Scenario

PAGE = "report.html"
OUTPUT = Path("benchmarks/paper")


@dataclass(frozen=True)
class Terms:
    """What the options say about all studies."""

    scenarios: Path
    output: Path
    quick: bool
    everything: bool
    """Whether all there is was asked for, and not this study by its name."""
    seeds: str | None
    rounds: int | None
    engine: dict[str, Any]
    """Keys of the scenario's section; None keeps what it says."""
    data_dir: Path | None
    place: Place
    """How many runs are trained at a time."""
    training: bool = True
    """Whether what is missing is trained, or only what is there is shown."""


@dataclass(frozen=True)
class Made:
    """A study's result.json, and a sentence for every run that failed."""

    document: dict[str, Any]
    failures: tuple[str, ...]


def make_study(name: str, study: Study, terms: Terms) -> Made:
    """Train what is missing of a study, and make its table and its pictures."""
    from tiercut.reproduce.trained import RESULTS, document_of

    wanted, folder = _decide(study, terms), terms.output / name
    failures: tuple[str, ...] = ()
    is_new = not wanted.is_there(folder / RESULTS) and _may_train(wanted, folder / RESULTS, terms)
    if is_new:
        failures = _train(wanted, folder / RESULTS, terms)
    document = document_of(wanted.study, name, folder)
    if is_new or not terms.training or not (folder / PAGE).exists():
        _draw(wanted.study, folder, terms.data_dir)
    return Made(document, failures)


def make_tuning(name: str, tuning: Tuning, terms: Terms) -> Tuned:
    """Train what is missing of a tuning, and write what it found."""
    from tiercut.compare.comparison import Comparison
    from tiercut.reproduce.study import read_study
    from tiercut.reproduce.tunings import SEED

    folder = terms.output / name
    if not terms.training:
        return look(tuning.settings, tuning.aim, folder)
    study, rounds = tuning.study, terms.rounds or tuning.rounds
    scenario = _as_asked(read_study(terms.scenarios, study.file), rounds, terms)
    wanted = Comparison(
        scenario,
        tuple(one.spec for one in study.contenders),
        parse_seeds(terms.seeds or f"{SEED},", scenario.seed),
        data_dir=terms.data_dir,
    )
    return carry_out(wanted, tuning.settings, tuning.aim, folder, terms.place)


def _as_asked(scenario: Scenario, rounds: int | None, terms: Terms) -> Scenario:
    """The scenario with the options in it."""
    from tiercut.train.overrides import override

    asked = override(scenario, training={"rounds": rounds}, engine=terms.engine)
    return asked.model_copy(update={"engine": terms.place.adjust(asked.engine)})


def _decide(study: Study, terms: Terms) -> Wanted:
    """The study with its scenario and the options in it."""
    from tiercut.reproduce.quick import quick_scenario, quick_study
    from tiercut.reproduce.stand import Wanted
    from tiercut.reproduce.study import read_study

    scenario = read_study(terms.scenarios, study.file)
    if terms.quick:
        study, scenario = quick_study(study), quick_scenario(scenario)
    scenario = _as_asked(scenario, terms.rounds, terms)
    seeds = parse_seeds(terms.seeds or str(study.seeds), scenario.seed)
    tuned = {} if study.tuning is None else _tuned(study.tuning, terms.output)
    return Wanted(study, scenario, study.overrides(terms.scenarios, tuned), seeds)


def _tuned(tuning: str, output: Path) -> Mapping[str, Own]:
    """What tuning found: beside the study, or where this repository has it."""
    from tiercut.measure.tuning import FILE, read_best
    from tiercut.reproduce.tunings import TUNINGS

    folders = (output / tuning, OUTPUT / tuning)
    for folder in folders:
        if (folder / FILE).exists():
            return read_best(folder)
    way = f"reproduce {tuning}" if tuning in TUNINGS else "tune"
    raise MissingError(
        f"{folders[0]}: there is no {FILE}, and settings of schemes are read from it; make it with"
        f" `tiercut {way}`, as docs/reproducing.md says, or try the way with --quick -o DIR"
    )


def _may_train(wanted: Wanted, results: Path, terms: Terms) -> bool:
    """Whether to train; `all` does so on a GPU, or on the device that was named."""
    from tiercut.reproduce.runs import has_gpu

    if not terms.training:
        if not wanted.is_begun(results):
            raise MissingError(f"{results}: there are no runs; leave --no-training out")
        return False
    if not terms.everything or terms.quick or terms.engine["device"] is not None or has_gpu():
        return True
    if not wanted.is_begun(results):
        raise MissingError(
            "it needs training, and there is no GPU here; name a device with --device, or try the"
            " way with --quick -o DIR"
        )
    return False


def _train(wanted: Wanted, results: Path, terms: Terms) -> tuple[str, ...]:
    from tiercut.cli.comparison_progress import watching_runs
    from tiercut.reproduce.runs import train

    with (
        counting("reading images") as count,
        saying_how_to_go_on(),
        terms.place.workers(wanted.scenario.engine) as workers,
        watching_runs() as watcher,
    ):
        return train(
            wanted,
            results,
            data_dir=terms.data_dir,
            command=["tiercut", *sys.argv[1:]],
            watcher=watcher,
            workers=workers,
            progress=count,
        )


def _draw(study: Study, folder: Path, data_dir: Path | None) -> None:
    """The study's figures, and the page about its runs."""
    from tiercut.cli.report import fleet_after, who_has_what
    from tiercut.documents import write_text
    from tiercut.measure.summary import write_summary
    from tiercut.report.curves import plot_curves
    from tiercut.report.page.build import build_page
    from tiercut.report.page.content import gather
    from tiercut.report.summary import summary_from_dict
    from tiercut.reproduce.trained import RESULTS, picture_of

    results = folder / RESULTS
    # Anew, since of runs that were killed nobody has written one.
    summary = summary_from_dict(write_summary(results), str(results))
    for axis in study.axes:
        plot_curves(summary, folder / picture_of(axis), axis)
    content = gather(results, summary, fleet_after, lambda one: who_has_what(one, data_dir))
    write_text(folder / PAGE, build_page(content))
