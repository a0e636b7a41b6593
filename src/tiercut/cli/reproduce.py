"""`tiercut reproduce`: the paper's tables and figures, made again beside its own figures."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from tiercut.cli.data import DirOption
from tiercut.cli.inputs import JsonOption, deliver
from tiercut.cli.place import AtOnceOption, Place
from tiercut.cli.progress import counting
from tiercut.cli.study import OUTPUT, Terms, make_study, make_tuning
from tiercut.cli.train import DeviceOption, ExecutorOption, PrecisionOption, ThreadsOption
from tiercut.errors import InputError, TiercutError

if TYPE_CHECKING:
    from tiercut.cli.tuning import Tuned
    from tiercut.reproduce.settings import Settings
    from tiercut.reproduce.tables import Maker

T = TypeVar("T")

SCENARIOS = Path("scenarios")


def reproduce(
    name: Annotated[
        str, typer.Argument(help="Such as table-iv, figure-5 or settings-vgg11; or all.")
    ],
    scenarios: Annotated[
        Path, typer.Option("--scenarios", help="Folder with the paper's scenarios.")
    ] = SCENARIOS,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the results, one folder for each.")
    ] = OUTPUT,
    tuned: Annotated[
        bool, typer.Option("--tuned", help="Figures 4 to 6 with our best options for all schemes.")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Only try it, in seconds on the CPU; needs -o DIR.")
    ] = False,
    seeds: Annotated[
        str | None, typer.Option("--seeds", help="How many [3; 1 for deep models]; or 0,5,7.")
    ] = None,
    rounds: Annotated[int | None, typer.Option("--rounds", help="How many rounds.")] = None,
    executor: ExecutorOption = None,
    device: DeviceOption = None,
    precision: PrecisionOption = None,
    threads: ThreadsOption = None,
    at_once: AtOnceOption = 1,
    no_training: Annotated[
        bool, typer.Option("--no-training", help="Make it from the runs there are, and train none.")
    ] = False,
    data_dir: DirOption = None,
    json: JsonOption = False,
) -> None:
    """Make the paper's tables and figures again; write each with the paper's figures beside ours.

    What needs training goes on where it was stopped.
    """
    from tiercut.documents import to_json
    from tiercut.reproduce.catalogue import ALL, choose
    from tiercut.reproduce.quick import label
    from tiercut.reproduce.results import to_document
    from tiercut.reproduce.settings import read_settings

    choice, command = choose(name, tuned=tuned), _command(name, scenarios, output)
    if quick and choice.tunings:
        raise InputError(f"{name} is a tuning, of which there is no quick trial; leave --quick out")
    if quick and output == OUTPUT:
        raise InputError("a quick trial is no result; say where it goes with -o DIR")
    if quick and name in choice.tables:
        raise InputError(f"{name} needs no training; leave --quick out")
    engine = {
        "executor": executor,
        "device": device,
        "precision": precision,
        "threads": threads,
    }
    place = Place(at_once=at_once)
    everything = name == ALL
    terms = Terms(
        scenarios,
        output,
        quick,
        everything,
        seeds,
        rounds,
        engine,
        data_dir,
        place,
        not no_training,
    )
    kept = _Kept(output, show=not json)
    if choice.tables and not quick:
        settings = read_settings(scenarios)
        for key, make in choice.tables.items():
            kept.add(key, _watched(make, settings, command))
    failures: list[str] = []
    for key, study in choice.studies.items():
        with _skipping(key, everything=everything):
            made = make_study(key, study, terms)
            kept.add(key, made.document)
            failures += made.failures
    settled = {key: make_tuning(key, one, terms) for key, one in choice.tunings.items()}
    for key, found in settled.items():
        kept.add_tuned(key, found)
    for key, make_from in choice.from_studies.items():
        with _skipping(key, everything=everything):
            table = make_from(output)
            kept.add(key, to_document(label(table) if quick else table, command))
    if json:
        deliver(to_json(kept.documents), None)
    for found in settled.values():
        found.refuse_hopeless()
    if failures:
        raise InputError(
            f"{len(failures)} of the runs did not get to their end; {failures[0]}; the same command"
            f" tries them again"
        )


class _Kept:
    """The results so far; each is written, and shown, as soon as it is there."""

    def __init__(self, output: Path, *, show: bool) -> None:
        self.documents: dict[str, dict[str, Any]] = {}
        self._output, self._show = output, show

    def add(self, key: str, document: dict[str, Any]) -> None:
        from tiercut.reproduce.results import write_result

        self.documents[key] = document
        write_result(document, self._output / key)
        typer.echo(f"wrote {self._output / key}", err=True)
        if self._show:
            _show(document)

    def add_tuned(self, key: str, tuned: Tuned) -> None:
        """What tuning found, which is written already."""
        self.documents[key] = tuned.document
        if self._show:
            tuned.show()


@contextmanager
def _skipping(key: str, *, everything: bool) -> Iterator[None]:
    """Where everything is made, what cannot be made does not keep the others back."""
    try:
        yield
    except TiercutError as reason:
        if not everything:
            raise
        typer.echo(f"skipped {key}: {reason}", err=True)


def _command(name: str, scenarios: Path, output: Path) -> str:
    """The command line that was given, as results record it."""
    words = ["tiercut", "reproduce", name]
    for option, value, usual in (
        ("--scenarios", scenarios, SCENARIOS),
        ("--output", output, OUTPUT),
    ):
        words += [] if value == usual else [option, str(value)]
    return shlex.join(words)


def _watched(make: Maker, settings: Settings, command: str) -> dict[str, Any]:
    """A table's result, made under a progress bar on standard error."""
    from tiercut.reproduce.results import to_document

    with counting("reproducing") as count:

        def watch(items: Iterable[T], description: str) -> Iterable[T]:
            steps = list(items)
            for done, item in enumerate(steps):
                count(done, len(steps), description)
                yield item

        return to_document(make(settings, watch=watch), command)


def _show(document: dict[str, Any]) -> None:
    """A result as a table for a person."""
    from rich.console import Console
    from rich.table import Table

    from tiercut.reproduce.results import show_cell

    table = Table(*document["columns"], title=document["title"])
    for row in document["rows"]:
        table.add_row(*map(show_cell, row))
    console = Console()
    console.print(table)
    for sentence in document["differences"]:
        console.print(f"- {sentence}", highlight=False, markup=False)
