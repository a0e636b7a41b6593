"""How a verb of the network runtime knows its peers: certificates, or nothing on one machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiercut.errors import InputError

if TYPE_CHECKING:
    from tiercut.net.logs import Log
    from tiercut.net.streams import Security

CertsOption = Annotated[
    Path | None,
    typer.Option("--certs", help="This node's folder, as `tiercut certs issue` makes it."),
]
InsecureOption = Annotated[
    bool,
    typer.Option("--insecure", help="No certificates; everything stays on this machine."),
]


def find_security(certs: Path | None, insecure: bool, name: str | None, log: Log) -> Security:
    """What the options ask for; with certificates the name is that of the certificate."""
    from tiercut.net.identity import LIST_FILE, Revoked, check_name, read_credentials
    from tiercut.net.streams import Insecure, MutualTLS

    if insecure == (certs is not None):
        raise InputError(
            "give --certs FOLDER (make one with `tiercut certs`), or --insecure to try things out"
            " on this machine alone"
        )
    if certs is None:
        if name is None:
            raise InputError("give this device a --name; with certificates it has one already")
        check_name(name)
        return Insecure(name)
    own = read_credentials(certs)
    if name not in (None, own.name):
        raise InputError(
            f"--name is {name!r} and the certificate in {certs} is for {own.name!r}; leave --name"
            f" out, or give the folder of {name!r}"
        )
    return MutualTLS(own, Revoked(certs / LIST_FILE, own.ca, log.warn))
