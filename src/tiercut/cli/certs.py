"""`tiercut certs`: who belongs to a network, by certificates of an own CA."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiercut.cli.inputs import JsonOption, given

if TYPE_CHECKING:
    from tiercut.net.signing import Issued

app = typer.Typer(help="Make and take back the certificates of nodes.", no_args_is_help=True)

CaArgument = Annotated[
    Path, typer.Argument(metavar="DIR", help="The CA's folder; keep it off the nodes.")
]


@app.command()
def init(folder: CaArgument) -> None:
    """Make an own CA in a new folder."""
    from tiercut.net.certs import create_ca

    create_ca(folder)
    typer.echo(
        f"made a CA in {folder}; who can read it can make nodes, so keep it where only you can",
        err=True,
    )


@app.command()
def issue(
    folder: CaArgument,
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME",
            help="Nodes; `server` is the server, `operator` a person who asks for the status.",
        ),
    ],
    address: Annotated[
        list[str] | None,
        typer.Option(
            "--address", help="Host name or IP address of these nodes [with --renew: as before]."
        ),
    ] = None,
    days: Annotated[
        int | None, typer.Option("--days", help="How long they are valid [365].")
    ] = None,
    renew: Annotated[
        bool, typer.Option("--renew", help="Also for names that have one; revokes nothing.")
    ] = False,
) -> None:
    """Make a folder with a certificate and a key for each node."""
    from tiercut.net.certs import DAYS
    from tiercut.net.certs import issue as issue_certificates

    made = issue_certificates(
        folder, names, addresses=address or (), days=given(days, DAYS), renew=renew
    )
    what = made[0] if len(made) == 1 else f"{len(made)} folders in {made[0].parent}"
    typer.echo(f"wrote {what}; copy each to its device, and give it there as --certs", err=True)


@app.command()
def revoke(
    folder: CaArgument, name: Annotated[str, typer.Argument(metavar="NAME", help="A node.")]
) -> None:
    """Take back all valid certificates of a node."""
    from tiercut.net.certs import revoke as revoke_certificates
    from tiercut.net.identity import LIST_FILE

    count = revoke_certificates(folder, name)
    typer.echo(
        f"took back {count} certificate{'s' * (count != 1)} of {name}; copy {folder / LIST_FILE}"
        f" over the server's, which reads it again when it changes",
        err=True,
    )


@app.command("list")
def list_issued(folder: CaArgument, json: JsonOption = False) -> None:
    """Show every certificate that was issued."""
    from tiercut.documents import to_json
    from tiercut.net.certs import read_issued

    now, issued = datetime.now(UTC), read_issued(folder)
    if json:
        rows = [{**entry.model_dump(mode="json"), "state": entry.state(now)} for entry in issued]
        typer.echo(to_json({"certificates": rows}), nl=False)
    else:
        _show_issued(issued, now, folder)


def _show_issued(issued: Iterable[Issued], now: datetime, folder: Path) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=escape(f"certificates of {folder}"))
    for column in ("name", "state", "expires", "addresses", "serial"):
        table.add_column(column, overflow="fold")
    for entry in issued:
        expires = f"{entry.expires:%Y-%m-%d}"
        row = (entry.name, entry.state(now), expires, " ".join(entry.addresses), entry.serial)
        table.add_row(*map(escape, row))
    Console().print(table)
