"""`tiercut data`: which data sets there are, getting them, who trains on what, handing it out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tiercut.cli.inputs import JsonOption
from tiercut.cli.progress import counting

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tiercut.data import Dataset
    from tiercut.data.handout import Handout
    from tiercut.scenario import Scenario

app = typer.Typer(
    help="Get data sets, see who trains on what, and hand it out.", no_args_is_help=True
)

DirOption = Annotated[
    Path | None,
    typer.Option("--data-dir", help="Folder of data sets [TIERCUT_DATA, else ./data]."),
]
MOST_ROWS = 40


@app.command("list")
def list_sets(data_dir: DirOption = None, json: JsonOption = False) -> None:
    """Show the known data sets, and where they are."""
    from tiercut.data.sources import BUILT_IN, STORED, data_folder
    from tiercut.documents import to_json

    folder = data_folder(data_dir)
    places = {name: stored.find(folder) for name, stored in STORED.items()}
    if json:
        found = {name: None if place is None else str(place) for name, place in places.items()}
        typer.echo(
            to_json({"folder": str(folder), "built_in": list(BUILT_IN), "stored": found}), nl=False
        )
        return
    rows = [(name, about, "") for name, about in BUILT_IN.items()]
    rows += [
        (name, stored.about, str(places[name] or f"tiercut data get {name}"))
        for name, stored in STORED.items()
    ]
    _print_table(f"data sets in {folder}", ("name", "what", "where"), rows)


@app.command()
def get(
    name: Annotated[str, typer.Argument(help="A known set: mnist, cifar10 or cinic10.")],
    data_dir: DirOption = None,
) -> None:
    """Download a known data set; run it again to go on after an interruption."""
    from tiercut.data import download
    from tiercut.data.sources import STORED, data_folder

    folder = data_folder(data_dir)
    place = STORED[name].find(folder) if name in STORED else None
    if place is not None:
        typer.echo(f"{name} is there already: {place}", err=True)
        return
    with counting(f"downloading {name}") as count:
        place = download.get(name, folder, progress=count)
    typer.echo(f"{name} is in {place}", err=True)


@app.command()
def show(
    scenario: Annotated[Path, typer.Argument(help="A scenario file (TOML).")],
    data_dir: DirOption = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Plot who has what into this SVG or PNG.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Show how a scenario's data is spread over its clients."""
    from tiercut.documents import to_json
    from tiercut.report.plots import check_format
    from tiercut.scenario import read_scenario

    if plot is not None:
        check_format(plot)
    spread = find_spread(read_scenario(scenario), data_dir)
    if plot is not None:
        from tiercut.report.spread import plot_spread

        plot_spread(spread, plot)
        typer.echo(f"wrote {plot}", err=True)
    if json:
        typer.echo(to_json(spread), nl=False)
    else:
        _show_spread(spread)


@app.command()
def split(
    scenario: Annotated[Path, typer.Argument(help="A scenario file (TOML).")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write to.")],
    data_dir: DirOption = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Root of all randomness.")] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Write beside other things in the folder.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Write what each client of a scenario trains on into a file of its own."""
    from tiercut.data.handout import hand_out, refuse_other_things
    from tiercut.documents import to_json
    from tiercut.scenario import read_scenario
    from tiercut.train.overrides import override

    wanted = override(read_scenario(scenario), seed=seed)
    if not overwrite:
        refuse_other_things(output)
    data, parts = deal(wanted, data_dir)
    with counting("writing files") as count:
        made = hand_out(
            data,
            parts,
            output,
            partition=wanted.data.partition,
            seed=wanted.seed,
            progress=count,
        )
    if json:
        typer.echo(to_json(made.model_dump(mode="json")), nl=False)
    else:
        _show_handout(made)
    typer.echo(f"wrote {len(made.clients):,} files into {output}", err=True)


def deal(scenario: Scenario, data_dir: Path | None) -> tuple[Dataset, dict[str, NDArray[np.int64]]]:
    """The scenario's data, and the training examples of each client by its name."""
    from tiercut.data import load, partition
    from tiercut.fleet import build_fleet
    from tiercut.seeds import Seeds

    seeds = Seeds(scenario.seed)
    fleet = build_fleet(scenario.fleet, seeds)
    with counting("reading images") as count:
        data = load(scenario.data, data_dir, count)
    parts = partition(data.train.labels, fleet.examples, scenario.data, seeds)
    return data, dict(zip(fleet.names, parts, strict=True))


def find_spread(scenario: Scenario, data_dir: Path | None) -> dict[str, Any]:
    """Who has what, as a JSON object."""
    from tiercut.data import label_counts
    from tiercut.data.partition import skew

    data, parts = deal(scenario, data_dir)
    counts = label_counts(data.train.labels, [*parts.values()], len(data.classes))
    return {
        "data": data.name,
        "partition": scenario.data.partition,
        "training_examples": len(data.train),
        "skew": skew(counts),
        "classes": list(data.classes),
        "clients": [
            {"name": name, "examples": sum(labels), "labels": labels}
            for name, labels in zip(parts, counts.tolist(), strict=True)
        ],
    }


def _show_spread(spread: dict[str, Any]) -> None:
    clients = spread["clients"]
    rows = [
        (client["name"], f"{client['examples']:,}", *map(str, client["labels"]))
        for client in clients[:MOST_ROWS]
    ]
    title = f"{spread['data']}, {spread['partition']}"
    _print_table(title, ("client", "examples", *spread["classes"]), rows)
    _say_what_is_left_out(len(clients))
    sizes = [client["examples"] for client in clients]
    typer.echo(
        f"{len(clients):,} clients with {min(sizes):,} to {max(sizes):,} examples, together"
        f" {sum(sizes):,} of {spread['training_examples']:,}"
    )
    typer.echo(
        f"label skew {spread['skew']:.3f}: 0 where all have the same mix, towards 1 if disjoint"
    )


def _show_handout(made: Handout) -> None:
    rows = [
        (share.name, f"{share.examples:,}", str(share.classes))
        for share in made.clients[:MOST_ROWS]
    ]
    title = f"{made.data}, {made.partition}, seed {made.seed}"
    _print_table(title, ("client", "examples", "classes"), rows)
    _say_what_is_left_out(len(made.clients))


def _say_what_is_left_out(clients: int) -> None:
    if clients > MOST_ROWS:
        typer.echo(f"and {clients - MOST_ROWS:,} more clients; --json shows all")


def _print_table(title: str, columns: tuple[str, ...], rows: Iterable[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Column, Table

    headers = [Column(escape(name), overflow="fold") for name in columns]
    table = Table(*headers, title=escape(title))
    for row in rows:
        table.add_row(*map(escape, row))
    Console().print(table)
