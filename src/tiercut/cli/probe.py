"""`tiercut probe`: which cut layers keep accuracy (Algorithm 1)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tiercut.cli.data import DirOption
from tiercut.cli.inputs import JsonOption, OutputOption, deliver, parse_layers
from tiercut.cli.place import OnOption, Place, RayAddressOption
from tiercut.cli.progress import counting
from tiercut.errors import InputError

if TYPE_CHECKING:
    from tiercut.probe.result import Probe
    from tiercut.scenario import Scenario

ThresholdOption = Annotated[
    float | None,
    typer.Option("--threshold", help="Keep cuts within so many percentage points of the best [1]."),
]


def probe(
    scenario: Annotated[
        Path | None, typer.Argument(help="A scenario file (TOML); or give --from.")
    ] = None,
    again: Annotated[
        Path | None,
        typer.Option("--from", help="Choose anew from this probe file; trains nothing."),
    ] = None,
    cuts: Annotated[
        str | None, typer.Option("--cuts", help="Cuts to try, such as 7,8 or 3-8 [3 to L-1].")
    ] = None,
    clients: Annotated[
        int | None, typer.Option("--clients", help="How many clients try them [10].")
    ] = None,
    epochs: Annotated[int | None, typer.Option("--epochs", help="For how many epochs [5].")] = None,
    threshold: ThresholdOption = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Plot the accuracies into this SVG or PNG.")
    ] = None,
    data_dir: DirOption = None,
    device: Annotated[
        str | None, typer.Option("--device", help="auto, cpu, cuda or cuda:1 [auto].")
    ] = None,
    precision: Annotated[
        str | None, typer.Option("--precision", help="fp32, tf32, bf16 or fp64 [fp32].")
    ] = None,
    threads: Annotated[
        int | None, typer.Option("--threads", help="CPU threads [one per core].")
    ] = None,
    on: OnOption = None,
    ray_address: RayAddressOption = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Root of all randomness [0].")] = None,
    json: JsonOption = False,
    output: OutputOption = None,
) -> None:
    """Train some clients at every cut, and keep the cuts at which the model is accurate."""
    from tiercut.report.plots import check_format

    if plot is not None:
        check_format(plot)
    for_training = {
        "cuts": cuts,
        "clients": clients,
        "epochs": epochs,
        "data-dir": data_dir,
        "device": device,
        "precision": precision,
        "threads": threads,
        "on": on,
        "ray-address": ray_address,
        "seed": seed,
    }
    if again is not None:
        _refuse_training(scenario, for_training)
        found = _choose_again(again, threshold)
    elif scenario is not None:
        changed = _with_options(scenario, {**for_training, "threshold": threshold})
        found = _train(changed, cuts, data_dir, output, Place(on, ray_address))
    else:
        raise InputError("give a scenario file, or a probe file with --from")
    _hand_over(found, plot, json, output)


def _refuse_training(scenario: Path | None, options: dict[str, Any]) -> None:
    needless = [f"--{name}" for name, value in options.items() if value is not None]
    if scenario is not None:
        needless.append(str(scenario))
    if needless:
        raise InputError(f"--from trains nothing; leave {needless[0]} away")


def _choose_again(path: Path, threshold: float | None) -> Probe:
    """The probe in a file, with another threshold if one is given."""
    from tiercut.probe.result import read_probe

    found = read_probe(path)
    if threshold is None:
        return found
    found.candidates(threshold)  # refuses a threshold that is none
    return found.model_copy(update={"threshold": threshold})


def _with_options(path: Path, options: dict[str, Any]) -> Scenario:
    """The scenario in a file, with the options that were given in the place of its own keys."""
    from tiercut.documents import check
    from tiercut.scenario import Scenario, read_scenario

    values = read_scenario(path).model_dump()
    keys = {
        "probe": ("clients", "epochs", "threshold"),
        "engine": ("device", "precision", "threads"),
    }
    for section, names in keys.items():
        values[section] |= {name: options[name] for name in names if options[name] is not None}
    if options["seed"] is not None:
        values["seed"] = options["seed"]
    return check(Scenario, values, "the command line")


def _train(
    scenario: Scenario, cuts: str | None, data_dir: Path | None, output: Path | None, place: Place
) -> Probe:
    """Try the cuts; what the output file has already is not tried again."""
    from tiercut.cost import scheme_named
    from tiercut.data import load
    from tiercut.documents import to_json, write_text
    from tiercut.fleet import build_fleet
    from tiercut.plan.problem import all_cuts
    from tiercut.probe.result import read_probe
    from tiercut.probe.run import run_probe
    from tiercut.probe.trial import prepare
    from tiercut.seeds import Seeds

    # A pipe or /dev/stdout is given the end result only.
    into = output if output is not None and (output.is_file() or not output.exists()) else None
    known = read_probe(into) if into is not None and into.exists() else None

    def keep(found: Probe) -> None:
        if into is not None:
            write_text(into, to_json(found.to_dict()))

    fleet = build_fleet(scenario.fleet, Seeds(scenario.seed))
    with counting("reading images") as count:
        data = load(scenario.data, data_dir, count)
    trial = prepare(scenario, data, fleet)
    depth, kept = trial.model.depth, scenario.plan.client_layers
    every = all_cuts(depth, scheme_named("aa-hsfl-ll"), kept)
    wanted = every if cuts is None else parse_layers(cuts)
    engine = place.adjust(scenario.engine)
    with place.workers(engine) as workers, counting("probing") as count:
        return run_probe(
            trial,
            wanted,
            engine,
            scenario.probe.threshold,
            known=known,
            keep=keep,
            progress=count,
            workers=workers,
            client_layers=kept,
        )


def _hand_over(found: Probe, plot: Path | None, json: bool, output: Path | None) -> None:
    """Write the probe file and the plot, and show the probe to a script or to a person."""
    from tiercut.documents import to_json

    text = to_json(found.to_dict())
    if output is not None:
        deliver(text, output)
    if plot is not None:
        from tiercut.report.cuts import plot_cuts

        plot_cuts(found.to_dict(), plot)
        typer.echo(f"wrote {plot}", err=True)
    if json:
        deliver(text, None)
    else:
        _show(found)


def _show(found: Probe) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    kept = found.candidates()
    title = f"{found.model}: {len(found.clients)} clients, {found.epochs} epochs"
    table = Table(title=escape(title))
    for column in ("cut v", "acc(v) %", "+- clients", "last epoch %", "kept"):
        table.add_column(column, justify="right")
    columns = (found.cuts, found.scores, found.spread.mean(axis=1), found.accuracy[:, -1])
    for cut, score, spread, last in zip(*columns, strict=True):
        table.add_row(
            str(cut),
            f"{100 * score:.2f}",
            f"{100 * spread:.2f}",
            f"{100 * last:.2f}",
            "yes" if cut in kept else "",
        )
    Console().print(table)
    best = found.cuts[int(found.scores.argmax())]
    typer.echo(
        f"measured on {found.held_out:,} held-out examples; kept: {len(kept)} of"
        f" {len(found.cuts)} cuts, those within {found.threshold:g} points of cut {best}, the best"
    )
    typer.echo(f"plan with --cuts {','.join(map(str, kept))}")
    if found.guesses:
        typer.echo(
            f"but no cut is much better than guessing 1 of {found.classes} classes, so this says"
            f" little; give more --epochs, or a larger rate in [training]"
        )
    if found.missing:
        typer.echo(
            f"cuts {', '.join(map(str, found.missing))} were not tried yet; run the probe again"
        )


def probed_cuts(path: Path, threshold: float | None, model: str, shallowest: int) -> str:
    """The candidates in a probe file of `model`, from the first that there is room for."""
    found = read_probe_of(model, path)
    if found.missing:
        raise InputError(
            f"{path}: cut {found.missing[0]} was not tried yet; run `tiercut probe` again to"
            f" finish the probe, or give --cuts"
        )
    kept = [cut for cut in found.candidates(threshold) if cut >= shallowest]
    if not kept:
        raise InputError(
            f"{path}: no candidate cut is {shallowest} or deeper, as every tier needs its layers;"
            f" give a larger --threshold"
        )
    return ",".join(map(str, kept))


def read_probe_of(model: str, path: Path) -> Probe:
    """The probe in a file, which must be of `model`."""
    from tiercut.probe.result import read_probe

    found = read_probe(path)
    if found.model != model:
        raise InputError(
            f"{path} is a probe of {found.model} and the plan is for {model}; probe that model"
            f" with `tiercut probe`"
        )
    return found
