"""`tiercut serve`: train a scenario on real devices, as their server."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiercut.cli.data import DirOption
from tiercut.cli.inputs import JsonOption
from tiercut.cli.progress import counting
from tiercut.cli.security import CertsOption, InsecureOption, find_security
from tiercut.errors import InputError

if TYPE_CHECKING:
    from tiercut.net.logs import Log
    from tiercut.net.serve import Site


def serve(
    scenario: Annotated[Path, typer.Argument(help="A scenario file (TOML).")],
    listen: Annotated[
        str | None,
        typer.Option(
            "--listen", help="Where devices call [0.0.0.0:7600, with --insecure 127.0.0.1:7600]."
        ),
    ] = None,
    certs: CertsOption = None,
    insecure: InsecureOption = False,
    clients: Annotated[
        int | None, typer.Option("--clients", help="Start with so many devices [the scenario's].")
    ] = None,
    scheme: Annotated[
        str | None, typer.Option("--scheme", help="Which scheme [the solver's].")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The run's folder [runs/NAME-SCHEME-net].")
    ] = None,
    rounds: Annotated[int | None, typer.Option("--rounds", help="How many rounds.")] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Root of all randomness.")] = None,
    patience: Annotated[
        float,
        typer.Option("--patience", help="Times the predicted seconds that a phase may take."),
    ] = 4.0,
    measure: Annotated[
        bool,
        typer.Option("--measure", help="Measure the devices also where the fleet has a file."),
    ] = False,
    metrics: Annotated[
        int | None,
        typer.Option(
            "--metrics",
            min=0,
            max=65535,
            help="Tell metrics for Prometheus at this port of 127.0.0.1 [not].",
        ),
    ] = None,
    data_dir: DirOption = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on after the last checkpoint in the folder.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a run that the folder holds.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Wait for the devices, measure them, plan, and train; survives their failures."""
    from tiercut.cli.train import default_folder, saying_how_to_go_on, show_summary
    from tiercut.cli.training_progress import watching_rounds
    from tiercut.data import load
    from tiercut.documents import to_json
    from tiercut.fleet import read_fleet
    from tiercut.net.addresses import SERVER_PORT, split_address
    from tiercut.net.grpc_log import hearing_grpc
    from tiercut.net.identity import SERVER
    from tiercut.net.logs import Log
    from tiercut.net.serve import Site, Venture
    from tiercut.scenario import read_scenario
    from tiercut.train.folder import RunFolder
    from tiercut.train.observer import Observer
    from tiercut.train.overrides import override
    from tiercut.train.setting import find_method

    if resume and overwrite:
        raise InputError("give --resume to go on, or --overwrite to start again, not both")
    if patience < 1:
        raise InputError(f"--patience is {patience:g}; expected at least 1, the prediction itself")
    here = listen or f"{'127.0.0.1' if insecure else '0.0.0.0'}:{SERVER_PORT}"
    split_address(here, "--listen")
    wanted = override(read_scenario(scenario), seed=seed, training={"rounds": rounds})
    chosen, solver = find_method(wanted, scheme, None)
    folder = RunFolder(output or Path(f"{default_folder(wanted, chosen)}-net"))
    folder.refuse_second(resume=resume, overwrite=overwrite)
    folder.path.mkdir(parents=True, exist_ok=True)
    with counting("reading images") as count:
        data = load(wanted.data, data_dir, count)
    known = None if wanted.fleet.file is None else read_fleet(wanted.fleet.file)
    count_of = clients or (wanted.fleet.clients if known is None else len(known))
    believed = None if measure else known
    venture = Venture(wanted, chosen, solver, data, count_of, patience, believed)
    with folder.log.open("a") as file:
        on_terminal = sys.stderr.isatty()  # else standard error has the log, and nothing else
        log = Log(file, stderr=not on_terminal)
        security = find_security(certs, insecure, SERVER if insecure else None, log)
        if security.name != SERVER:
            raise InputError(
                f"the certificate in {certs} is for {security.name!r}; a server's is for {SERVER!r}"
            )
        site = Site(venture, security, log)
        with (
            hearing_grpc(log),
            site.open_at(here) as address,
            _metrics(metrics, site, log),
            saying_how_to_go_on(folder.path),
        ):
            if on_terminal:
                typer.echo(f"waiting at {address} for {count_of} devices", err=True)
            with watching_rounds() if on_terminal else nullcontext(Observer()) as shown:
                summary = site.train(
                    folder.path,
                    resume=resume,
                    overwrite=overwrite,
                    command=["tiercut", *sys.argv[1:]],
                    observers=[shown],
                )
    if json:
        typer.echo(to_json(summary.to_dict()), nl=False)
    else:
        show_summary(summary)


@contextmanager
def _metrics(port: int | None, site: Site, log: Log) -> Iterator[None]:
    """The site's metrics at a port, if there is one."""
    if port is None:
        yield
        return
    from tiercut.net.metrics import serving_metrics

    with serving_metrics(port, site.ask_status) as address:
        log("metrics", address=address)
        yield
