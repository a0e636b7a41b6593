"""`tiercut compare`: train several schemes from several seeds, and measure them."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tiercut.cli.data import DirOption
from tiercut.cli.inputs import JsonOption
from tiercut.cli.measure import TargetsOption, parse_targets
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
    from tiercut.compare.comparison import Comparison
    from tiercut.scenario import Scenario

MOST_SEEDS = 1000
WHOLE = ("stacked", "reference")
"""The engines that train a whole run where they are."""


SchemesOption = Annotated[
    str | None,
    typer.Option(
        "--schemes", help="Names by commas [sfl,multihop,locsfl,dtfl,aa-hsfl-ll]; own ones too."
    ),
]
SeedsOption = Annotated[
    str, typer.Option("--seeds", help="How many, from the scenario's on; or a list: 0,5,7.")
]
FixedOption = Annotated[
    str | None,
    typer.Option("--hsfl-ll", help="Its h, v and lambda, such as 3,8,20%; or aa: as AA's."),
]


def compare(
    scenario: Annotated[Path, typer.Argument(help="A scenario file (TOML).")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder of the comparison; it goes on there.")
    ],
    schemes: SchemesOption = None,
    seeds: SeedsOption = "3",
    rounds: Annotated[int | None, typer.Option("--rounds", help="How many rounds.")] = None,
    own: Annotated[
        list[str] | None,
        typer.Option("--override", help="SCHEME:training.rate=3e-4, for it alone; repeatable."),
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
    targets: TargetsOption = None,
    drop_checkpoints: Annotated[
        bool, typer.Option("--drop-checkpoints", help="Remove a run's states once it is finished.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Train every scheme from every seed, and show who reaches which accuracy when."""
    from tiercut.cli.comparison_progress import watching_runs
    from tiercut.cli.results_tables import show_summary
    from tiercut.compare.check import check_comparison
    from tiercut.compare.runs import run_comparison
    from tiercut.data import remembering
    from tiercut.documents import to_json

    place = Place(on, ray_address, at_once)
    engine = {"executor": executor, "device": device, "precision": precision, "threads": threads}
    comparison = describe(
        scenario, schemes, seeds, own, fixed, data_dir, place, rounds=rounds, engine=engine
    )
    wanted = comparison.scenario
    with counting("reading images") as count:
        manifest = check_comparison(
            comparison,
            output,
            targets=parse_targets(targets),
            command=["tiercut", *sys.argv[1:]],
            load=remembering(count),
        )
    with (
        saying_how_to_go_on(),
        cluster_for(wanted.engine),
        place.workers(wanted.engine) as workers,
        watching_runs() as watcher,
    ):
        outcome = run_comparison(
            comparison,
            output,
            manifest,
            keep="weights" if drop_checkpoints else "states",
            watcher=watcher,
            workers=workers,
        )
    if json:
        typer.echo(to_json(outcome.summary), nl=False)
    else:
        show_summary(outcome.summary)
        typer.echo(f"everything is in {output}")
    if outcome.failures:
        raise InputError(
            f"{len(outcome.failures)} of {len(comparison.jobs)} runs did not get to their end;"
            f" {outcome.failures[0]}; the same command tries them again"
        )


def describe(
    scenario: Path,
    schemes: str | None,
    seeds: str,
    own: list[str] | None,
    fixed: str | None,
    data_dir: Path | None,
    place: Place,
    *,
    rounds: int | None,
    engine: dict[str, Any],
) -> Comparison:
    """What the words of a command line ask to compare, as it is computed where it is."""
    from tiercut.compare.comparison import USUAL_SCHEMES, Comparison
    from tiercut.compare.override import parse_overrides
    from tiercut.scenario import read_scenario
    from tiercut.schemes import find_scheme
    from tiercut.train.overrides import override

    asked = override(read_scenario(scenario), training={"rounds": rounds}, engine=engine)
    wanted = _adjusted(asked, place)
    specs = USUAL_SCHEMES if schemes is None else tuple(schemes.split(","))
    return Comparison(
        scenario=wanted,
        specs=specs,
        seeds=parse_seeds(seeds, wanted.seed),
        overrides=parse_overrides(own or (), [find_scheme(spec).name for spec in specs]),
        fixed=fixed,
        data_dir=data_dir,
    )


def _adjusted(scenario: Scenario, place: Place) -> Scenario:
    """The scenario as runs are computed where they are."""
    from tiercut.train.setting import reachable

    if place.option is None:
        return scenario
    if scenario.engine.name not in WHOLE:
        raise InputError(
            f"the scenario's engine is {scenario.engine.name}, and {place.option} trains every run"
            f" whole by one worker; use the engine {WHOLE[0]}, or leave that away"
        )
    return scenario.model_copy(update={"engine": place.adjust(reachable(scenario.engine))})


def parse_seeds(text: str, first: int) -> tuple[int, ...]:
    """So many seeds from the first on, or those listed: "3", or "0,5,7"; "7," is the seed 7."""
    parts = [part.strip() for part in text.removesuffix(",").split(",")]
    if not all(part.isdecimal() for part in parts):
        raise InputError(f"--seeds {text!r}: write how many, such as 3, or which ones, as in 0,5,7")
    if "," in text:
        return tuple(map(int, parts))
    count = int(parts[0])
    if not 1 <= count <= MOST_SEEDS:
        raise InputError(f"--seeds asks for {count} seeds; expected 1 to {MOST_SEEDS}")
    return tuple(range(first, first + count))


@contextmanager
def saying_how_to_go_on() -> Iterator[None]:
    """Whoever stops a comparison is told how it goes on."""
    from tiercut.cli import Interrupted

    try:
        yield
    except Interrupted:
        again = shlex.join(["tiercut", *sys.argv[1:]])
        print(f"tiercut: `{again}` goes on where it was; what is done is kept", file=sys.stderr)
        raise
