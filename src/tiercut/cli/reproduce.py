"""`tiercut reproduce`: the paper's tables, made again beside its own figures."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from tiercut.cli.inputs import JsonOption, deliver
from tiercut.cli.progress import counting

if TYPE_CHECKING:
    from tiercut.reproduce.settings import Settings
    from tiercut.reproduce.tables import Maker

T = TypeVar("T")

SCENARIOS = Path("scenarios")
OUTPUT = Path("benchmarks/paper")


def reproduce(
    name: Annotated[str, typer.Argument(help="A table, such as table-iv; or all.")],
    scenarios: Annotated[
        Path, typer.Option("--scenarios", help="Folder with the paper's scenarios.")
    ] = SCENARIOS,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the results, one folder per table.")
    ] = OUTPUT,
    json: JsonOption = False,
) -> None:
    """Make the paper's tables again; write each with the paper's figures beside ours."""
    from tiercut.documents import to_json
    from tiercut.reproduce.results import write_result
    from tiercut.reproduce.settings import read_settings
    from tiercut.reproduce.tables import tables_named

    makers = tables_named(name)
    settings = read_settings(scenarios)
    documents = {}
    for table, make in makers.items():
        documents[table] = _watched(make, settings, _command(name, scenarios, output))
        write_result(documents[table], output / table)
        typer.echo(f"wrote {output / table}", err=True)
        if not json:
            _show(documents[table])
    if json:
        deliver(to_json(documents), None)


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
