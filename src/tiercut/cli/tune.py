"""`tiercut tune`: the setting that suits each scheme best, each with the same budget."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiercut.cli.compare import FixedOption, SchemesOption, SeedsOption, describe
from tiercut.cli.data import DirOption
from tiercut.cli.inputs import JsonOption
from tiercut.cli.objective import read_kind, read_target
from tiercut.cli.place import AtOnceOption, OnOption, Place, RayAddressOption
from tiercut.cli.train import DeviceOption, ExecutorOption, PrecisionOption, ThreadsOption
from tiercut.cli.tuning import carry_out
from tiercut.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tiercut.measure.tuning import Aim, Settings

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
    from tiercut.documents import to_json

    aim = _aim(objective, target)
    engine = {"executor": executor, "device": device, "precision": precision, "threads": threads}
    place = Place(on, ray_address, at_once)
    wanted = describe(
        scenario, schemes, seeds, own, fixed, data_dir, place, rounds=rounds, engine=engine
    )
    settings = settings_of(rates, tries or [], wanted.schemes)
    tuned = carry_out(wanted, settings, aim, output, place)
    if json:
        typer.echo(to_json(tuned.document), nl=False)
    else:
        tuned.show()
    tuned.refuse_hopeless()


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


def parse_rates(text: str) -> tuple[float, ...]:
    """Rates such as "1e-4,3e-4", from the lowest on."""
    try:
        rates = sorted({float(part) for part in text.split(",")})
    except ValueError:
        rates = []
    if not rates or not all(0 < rate < float("inf") for rate in rates):
        raise InputError(f"--rates {text!r}: expected numbers above 0, such as 1e-4,3e-4,1e-3")
    return tuple(rates)
