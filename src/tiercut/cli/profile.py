"""`tiercut profile`: what each layer of a model costs, and how fast this device runs it."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tiercut.cli.inputs import JsonOption, OutputOption, deliver, parse_shape
from tiercut.cli.progress import counting
from tiercut.errors import InputError, nearest

if TYPE_CHECKING:
    from tiercut.models.layered import LayeredModel
    from tiercut.models.measure import Measurement
    from tiercut.models.profile import Profile


def profile(
    model: Annotated[str, typer.Argument(help="A shipped model, or package.module:factory.")],
    json: JsonOption = False,
    output: OutputOption = None,
    input_shape: Annotated[
        str | None, typer.Option("--input", help="One sample's shape, such as 3x32x32.")
    ] = None,
    measure: Annotated[
        bool, typer.Option("--measure", help="Time this device on the model's layers.")
    ] = False,
    batch: Annotated[int, typer.Option("--batch", help="Batch size for --measure.")] = 32,
    fleet: Annotated[
        Path | None,
        typer.Option("--fleet", help="With --measure: write the result into this fleet file."),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="With --measure: this device's name [hostname].")
    ] = None,
    examples: Annotated[
        int, typer.Option("--examples", help="With --measure: examples on this device.")
    ] = 500,
) -> None:
    """Show what each layer of MODEL costs: FLOP, weights and activations for one sample."""
    from tiercut.documents import to_json
    from tiercut.models.trace import trace
    from tiercut.models.zoo import build_model

    if not measure and (fleet is not None or name is not None):
        raise InputError("--fleet and --name are for what is measured; give --measure as well")
    if examples < 1:
        raise InputError(f"--examples is {examples}; expected at least 1")
    device = name or platform.node() or "this-device"
    if fleet is not None:
        _client_of(fleet, device)  # before measuring for seconds
    built = build_model(model, input_shape=parse_shape(input_shape))
    if measure:
        entry = _measured_entry(built, batch, device, examples)
        if fleet is not None:
            _update_fleet(fleet, entry)
        else:
            deliver(to_json(entry), output)
        return
    traced = trace(built)
    if json or output is not None:
        deliver(to_json(traced.to_dict()), output)
    else:
        show_profile(traced)


def show_profile(traced: Profile) -> None:
    """What each layer costs, as a table for a person."""
    from rich.console import Console
    from rich.table import Table

    from tiercut.units import show_flops, show_size

    table = Table(title=f"{traced.name}: {traced.parameters:,} parameters, per sample")
    for column in ("layer", "name", "forward", "weights", "activations", "parameters"):
        table.add_column(column, justify="left" if column == "name" else "right")
    for layer in traced.layers:
        table.add_row(
            str(layer.index),
            layer.name,
            show_flops(layer.flops),
            show_size(layer.weight_bytes),
            show_size(layer.activation_bytes),
            f"{layer.parameters:,}",
        )
    Console().print(table)


def _measured_entry(model: LayeredModel, batch: int, name: str, examples: int) -> dict[str, Any]:
    """The device it runs on, as a client of a fleet file."""
    from tiercut.models.measure import measure
    from tiercut.units import show_throughput

    with counting("measuring") as count:

        def show(index: int, layer: str) -> None:
            count(index - 1, model.depth, f"measuring {layer}")

        result: Measurement = measure(model, batch=batch, on_layer=show)
    typer.echo(f"this device runs {model.name} at {show_throughput(result.throughput)}", err=True)
    return {
        "name": name,
        "throughput": result.throughput,
        "examples": examples,
        "layer_throughput": list(result.layer_throughput),
    }


def _client_of(path: Path, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """A fleet file's JSON object, and in it the client called `name`."""
    from tiercut.documents import read_json
    from tiercut.fleet import fleet_from_dict

    data = read_json(path)
    names = fleet_from_dict(data, str(path)).names
    if name not in names:
        raise InputError(
            f"{path}: there is no client {name!r}{nearest(name, names)}; name one of its clients"
            f" with --name, or add this device to the file first"
        )
    return data, data["clients"][names.index(name)]


def _update_fleet(path: Path, entry: dict[str, Any]) -> None:
    """Put the measured throughputs into the fleet file's client of the same name."""
    from tiercut.documents import to_json, write_text

    data, client = _client_of(path, entry["name"])
    client.update(throughput=entry["throughput"], layer_throughput=entry["layer_throughput"])
    write_text(path, to_json(data))
    typer.echo(f"wrote {entry['name']} into {path}", err=True)
