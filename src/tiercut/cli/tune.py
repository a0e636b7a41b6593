"""`tiercut tune`: the setting that suits each scheme best, each with the same budget."""

from __future__ import annotations

import sys
from dataclasses import replace
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
from tiercut.cli.objective import read_kind, read_target
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
    from collections.abc import Iterable, Mapping

    from tiercut.cluster.workers import Workers
    from tiercut.compare.runs import Part
    from tiercut.compare.tuning import Trial
    from tiercut.measure.tuning import Aim, Found, Settings

RATE = "training.rate"
USUAL_RATES = (1e-4, 3e-4, 1e-3, 3e-3)


def tune(
    scenario: Annotated[Path, typer.Argument(help="A scenario file (TOML).")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder; it goes on there.")],
    rates: Annotated[
        str | None,
        typer.Option(
            "--rates", help="Learning rates, by commas [1e-4,3e-4,1e-3,3e-3 without --try]."
        ),
    ] = None,
    tries: Annotated[
        list[str] | None,
        typer.Option(
            "--try", help="[SCHEME:]plan.cuts=[[3],[5]], the values to try of a key; repeatable."
        ),
    ] = None,
    objective: Annotated[
        str | None,
        typer.Option(
            "--objective",
            help="The best has the least time-to-accuracy or bytes-to-accuracy [most accurate].",
        ),
    ] = None,
    target: Annotated[
        float | None, typer.Option("--target", help="With --objective: the accuracy, in percent.")
    ] = None,
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
    """Train every scheme in every setting, and name the one in which each does best.

    A tenth of every client's examples is kept back to measure on; the test set is not looked at.
    """
    from tiercut.cli.tuning_table import show_tuning
    from tiercut.compare.tuning import trials
    from tiercut.documents import to_json, write_text
    from tiercut.measure.tuning import FILE, read_tuning, to_document

    aim = _aim(objective, target)
    engine = {"executor": executor, "device": device, "precision": precision, "threads": threads}
    place = Place(on, ray_address, at_once)
    wanted = describe(
        scenario, schemes, seeds, own, fixed, data_dir, place, rounds=rounds, engine=engine
    )
    settings = settings_of(rates, tries or [], wanted.schemes)
    wanted = replace(wanted, until=aim.target)  # then it is known what that takes
    tried, command = trials(wanted, settings), ["tiercut", *sys.argv[1:]]
    with (
        saying_how_to_go_on(),
        cluster_for(wanted.scenario.engine),
        place.workers(wanted.scenario.engine) as workers,
    ):
        _train(tried, output, command, workers)
    found = read_tuning(output, settings, aim)
    document = to_document(found, aim, command)
    write_text(output / FILE, to_json(document))
    if json:
        typer.echo(to_json(document), nl=False)
    else:
        show_tuning(found, list(tried), aim)
        typer.echo(f"everything is in {output}")
    _refuse_hopeless(found, aim)


def _aim(objective: str | None, target: float | None) -> Aim:
    from tiercut.measure.tuning import Aim

    if objective is not None:
        return Aim(read_kind(objective), read_target(target))
    if target is not None:
        raise InputError("--target goes with --objective time-to-accuracy or bytes-to-accuracy")
    return Aim()


def settings_of(rates: str | None, tries: list[str], schemes: Iterable[str]) -> dict[str, Settings]:
    """What is tried with each scheme."""
    from tiercut.compare.settings import combinations, parse_tries

    values = parse_tries(tries, schemes)
    if rates is not None and any(RATE in own for own in values.values()):
        raise InputError(f"--rates and --try {RATE} both say what rates to try; leave one away")
    if rates is not None or not tries:
        each = USUAL_RATES if rates is None else parse_rates(rates)
        values = {name: {RATE: each, **own} for name, own in values.items()}
    return {name: combinations(own) for name, own in values.items()}


def _train(tried: Mapping[str, Trial], output: Path, command: list[str], workers: Workers) -> None:
    from tiercut.cli.comparison_progress import watching_runs
    from tiercut.compare.runs import run_comparisons

    parts = _check(tried, output, command)
    with watching_runs() as watcher:
        run_comparisons(parts, keep="rounds", watcher=watcher, workers=workers)


def _check(tried: Mapping[str, Trial], output: Path, command: list[str]) -> list[Part]:
    """What is to be trained, if all of it can be; the data are read once for all settings."""
    from tiercut.compare.check import check_comparison
    from tiercut.compare.runs import Part
    from tiercut.data import remembering

    parts = []
    with counting("reading images") as count:
        load = remembering(count)
        for label, trial in tried.items():
            folder = output / label
            manifest = check_comparison(trial, folder, command=command, load=load)
            parts.append(Part(trial, folder, manifest))
    return parts


def parse_rates(text: str) -> tuple[float, ...]:
    """Rates such as "1e-4,3e-4", from the lowest on."""
    try:
        rates = sorted({float(part) for part in text.split(",")})
    except ValueError:
        rates = []
    if not rates or not all(0 < rate < float("inf") for rate in rates):
        raise InputError(f"--rates {text!r}: expected numbers above 0, such as 1e-4,3e-4,1e-3")
    return tuple(rates)


def _refuse_hopeless(found: Mapping[str, Found], aim: Aim) -> None:
    hopeless = [name for name, one in found.items() if one.best is None]
    if not hopeless:
        return
    if aim.target is None or all(t.accuracy is None for t in found[hopeless[0]].tried.values()):
        raise InputError(f"{hopeless[0]} did not get to its end in any setting; try lower --rates")
    raise InputError(
        f"{hopeless[0]} did not reach {100 * aim.target:g} % in any setting; lower --target, or"
        f" give more --rounds"
    )
