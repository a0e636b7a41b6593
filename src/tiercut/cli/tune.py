"""`tiercut tune`: the learning rate that suits each scheme, each with the same budget."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiercut.cli.compare import (
    FixedOption,
    SchemesOption,
    SeedsOption,
    describe,
    saying_how_to_go_on,
)
from tiercut.cli.data import DirOption
from tiercut.cli.inputs import JsonOption
from tiercut.cli.place import AtOnceOption, OnOption, Place, RayAddressOption
from tiercut.cli.progress import counting
from tiercut.cli.train import (
    DeviceOption,
    ExecutorOption,
    PrecisionOption,
    ThreadsOption,
    cluster_for,
)
from tiercut.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tiercut.cluster.workers import Workers
    from tiercut.compare.tuning import Found, Trial

FILE = "tuning.json"


def tune(
    scenario: Annotated[Path, typer.Argument(help="A scenario file (TOML).")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder; it goes on there.")],
    rates: Annotated[
        str, typer.Option("--rates", help="Learning rates to try, by commas.")
    ] = "1e-4,3e-4,1e-3,3e-3",
    schemes: SchemesOption = None,
    seeds: SeedsOption = "1",
    rounds: Annotated[int | None, typer.Option("--rounds", help="How many rounds each.")] = None,
    own: Annotated[
        list[str] | None,
        typer.Option("--override", help="SCHEME:plan.cuts=[3,4], for it alone; repeatable."),
    ] = None,
    fixed: FixedOption = None,
    executor: ExecutorOption = None,
    device: DeviceOption = None,
    precision: PrecisionOption = None,
    threads: ThreadsOption = None,
    on: OnOption = None,
    ray_address: RayAddressOption = None,
    at_once: AtOnceOption = 1,
    data_dir: DirOption = None,
    json: JsonOption = False,
) -> None:
    """Train every scheme at every rate, and name the rate at which each learns most.

    A tenth of every client's examples is kept back to measure on; the test set is not looked at.
    """
    from tiercut.compare.tuning import read_tuning, to_document, trials
    from tiercut.documents import to_json, write_text

    engine = {"executor": executor, "device": device, "precision": precision, "threads": threads}
    place = Place(on, ray_address, at_once)
    wanted = describe(
        scenario, schemes, seeds, own, fixed, data_dir, place, rounds=rounds, engine=engine
    )
    tried, command = trials(wanted, parse_rates(rates)), ["tiercut", *sys.argv[1:]]
    with (
        saying_how_to_go_on(),
        cluster_for(wanted.scenario.engine),
        place.workers(wanted.scenario.engine) as workers,
    ):
        _train(tried, output, command, workers)
    found = read_tuning(output, tried)
    document = to_document(found, command)
    write_text(output / FILE, to_json(document))
    hopeless = [name for name, one in found.items() if one.best is None]
    if hopeless:
        raise InputError(f"{hopeless[0]} did not get to its end at any rate; try lower --rates")
    if json:
        typer.echo(to_json(document), nl=False)
    else:
        _show(found)
        typer.echo(f"everything is in {output}")


def _train(
    tried: Mapping[float, Trial], output: Path, command: list[str], workers: Workers
) -> None:
    from tiercut.cli.comparison_progress import watching_runs
    from tiercut.compare.check import check_comparison
    from tiercut.compare.runs import run_comparison
    from tiercut.compare.tuning import folder_at

    with counting("reading images") as count:
        manifests = {
            rate: check_comparison(trial, folder_at(output, rate), command=command, progress=count)
            for rate, trial in tried.items()
        }
    for rate, trial in tried.items():
        typer.echo(f"rate {rate}", err=True)
        with watching_runs() as watcher:
            run_comparison(
                trial,
                folder_at(output, rate),
                manifests[rate],
                drop_checkpoints=True,
                watcher=watcher,
                workers=workers,
            )


def parse_rates(text: str) -> tuple[float, ...]:
    """Rates such as "1e-4,3e-4", from the lowest on."""
    try:
        rates = sorted({float(part) for part in text.split(",")})
    except ValueError:
        rates = []
    if not rates or not all(0 < rate < float("inf") for rate in rates):
        raise InputError(f"--rates {text!r}: expected numbers above 0, such as 1e-4,3e-4,1e-3")
    return tuple(rates)


def _show(found: Mapping[str, Found]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    rates = next(iter(found.values())).accuracy
    table = Table(title="accuracy on examples kept back, %")
    table.add_column("scheme")
    for rate in rates:
        table.add_column(str(rate), justify="right")
    for one in found.values():
        cells = [_cell(value, best=rate == one.best) for rate, value in one.accuracy.items()]
        table.add_row(escape(one.title), *cells)
    Console().print(table)
    best = {name: one.best for name, one in found.items()}
    words = " ".join(f"--override {name}:training.rate={rate}" for name, rate in best.items())
    typer.echo(f"compare with {words}")
    edge = [name for name, one in found.items() if one.is_at_the_edge]
    if edge and len(rates) > 1:
        typer.echo(f"{', '.join(edge)}: best at the lowest or the highest rate; try ones beyond")


def _cell(accuracy: float | None, *, best: bool) -> str:
    if accuracy is None:
        return "failed"
    return f"[bold]{100 * accuracy:.2f} *[/]" if best else f"{100 * accuracy:.2f}"
