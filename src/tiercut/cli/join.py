"""`tiercut join`: take part in a run as a device, with data that stays here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tiercut.cli.event_loop import run_on_loop
from tiercut.cli.security import CertsOption, InsecureOption, find_security


def join(
    server: Annotated[str, typer.Argument(help="The server, as host:port.")],
    data: Annotated[
        Path, typer.Option("--data", help="This device's own data: an .npz file or image folders.")
    ],
    certs: CertsOption = None,
    insecure: InsecureOption = False,
    name: Annotated[
        str | None, typer.Option("--name", help="This device's name [its certificate's].")
    ] = None,
    listen: Annotated[
        str | None,
        typer.Option(
            "--listen",
            help="Where other devices call; port 0 takes a free one"
            " [0.0.0.0:7601, with --insecure 127.0.0.1:0].",
        ),
    ] = None,
    advertise: Annotated[
        str | None,
        typer.Option("--advertise", help="What others call [this end of the server link]."),
    ] = None,
    threads: Annotated[
        int | None, typer.Option("--threads", help="CPU threads [one per core].")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="Own code that the server may ask for.")
    ] = None,
    scheme: Annotated[
        str | None, typer.Option("--scheme", help="Own code that the server may ask for.")
    ] = None,
) -> None:
    """Join a server and do this device's part until training is over."""
    import torch

    from tiercut.data.own import load_own
    from tiercut.net.addresses import (
        ANYWHERE,
        DEVICE_PORT,
        check_advertised,
        split_address,
        towards,
    )
    from tiercut.net.device import Device, Place
    from tiercut.net.grpc_log import hearing_grpc
    from tiercut.net.logs import Log

    if threads is not None:
        torch.set_num_threads(threads)
    log = Log(stderr=True)
    security = find_security(certs, insecure, name, log)
    split_address(server, "the server")
    here = listen or ("127.0.0.1:0" if insecure else f"0.0.0.0:{DEVICE_PORT}")
    host, _ = split_address(here, "--listen")
    if advertise is not None:
        check_advertised(advertise)
    host = towards(server) if host in ANYWHERE else host

    async def run() -> None:
        device = Device(
            security,
            Place(server, here, host, advertise),
            lambda classes, shape: load_own(data, classes=classes, shape=shape),
            log,
            model=model,
            scheme=scheme,
        )
        await device.run()

    with hearing_grpc(log):
        run_on_loop(run())
