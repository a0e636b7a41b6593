"""`tiercut fleet`: sample fleets as the paper does, and look at fleet files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tiercut.cli.inputs import JsonOption, OutputOption, deliver

app = typer.Typer(help="Sample fleets, and look at fleet files.", no_args_is_help=True)


@app.command()
def sample(
    clients: Annotated[int, typer.Option("--clients", "-n", help="How many.")] = 100,
    strong: Annotated[float, typer.Option("--strong", help="Fraction of strong clients.")] = 0.3,
    gamma: Annotated[
        float | None, typer.Option("--gamma", help="Strong over weak throughput [7.33].")
    ] = None,
    weak: Annotated[str, typer.Option("--weak", help="Throughput of a weak client.")] = "2.4 GHz",
    throughput: Annotated[
        tuple[str, str] | None,
        typer.Option("--throughput", help="LOW HIGH: every client draws its own instead."),
    ] = None,
    server: Annotated[str, typer.Option("--server", help="The server's throughput.")] = "100 GHz",
    rates: Annotated[
        tuple[str, str], typer.Option("--rates", help="LOW HIGH: the range of link rates.")
    ] = ("20 Mbps", "25 Mbps"),
    links: Annotated[str, typer.Option("--links", help="between or access.")] = "between",
    examples: Annotated[int, typer.Option("--examples", help="Examples per client.")] = 500,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same fleet.")] = 0,
    output: OutputOption = None,
) -> None:
    """Write a fleet drawn as the paper draws its own."""
    from tiercut.documents import check, to_json
    from tiercut.fleet import sample_fleet
    from tiercut.scenario import FleetSection
    from tiercut.seeds import Seeds

    options = {
        "clients": clients,
        "examples": examples,
        "strong_fraction": strong,
        "weak": weak,
        "server": server,
        "links": links,
        "rates": list(rates),
        **({} if gamma is None else {"gamma": gamma}),
        **({} if throughput is None else {"throughput": list(throughput)}),
    }
    section = check(FleetSection, options, "tiercut fleet sample")
    deliver(to_json(sample_fleet(section, Seeds(seed)).to_dict()), output)


@app.command()
def show(
    path: Annotated[Path, typer.Argument(help="A fleet file.")], json: JsonOption = False
) -> None:
    """Check a fleet file and summarise it."""
    import numpy as np

    from tiercut.documents import to_json
    from tiercut.fleet import read_fleet
    from tiercut.units import show_rate, show_throughput

    fleet = read_fleet(path)
    summary: dict[str, Any] = {
        "clients": len(fleet),
        "examples": int(fleet.examples.sum()),
        "server_throughput": fleet.server_throughput,
        "throughput": [float(q) for q in np.quantile(fleet.throughput, [0, 0.5, 1])],
        "to_server": [float(q) for q in np.quantile(fleet.to_server, [0, 0.5, 1])],
        "links": "access" if fleet.links.shared else "between",
    }
    if json:
        typer.echo(to_json(summary), nl=False)
        return
    slowest, median, fastest = map(show_throughput, summary["throughput"])
    low, middle, high = map(show_rate, summary["to_server"])
    typer.echo(f"{len(fleet)} clients with {fleet.examples.sum():,} examples")
    typer.echo(f"throughput {slowest} to {fastest}, median {median}")
    typer.echo(f"rate to the server {low} to {high}, median {middle}")
    typer.echo(f"links between clients: {summary['links']}")
    typer.echo(f"server {show_throughput(fleet.server_throughput)}")
