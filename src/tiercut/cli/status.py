"""`tiercut status`: how things stand at a server that trains on real devices."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from tiercut.cli.event_loop import run_on_loop
from tiercut.cli.inputs import JsonOption
from tiercut.cli.security import CertsOption, InsecureOption, find_security
from tiercut.errors import InputError, MissingError

if TYPE_CHECKING:
    from tiercut.net.status import Status

    Ask = Callable[[], Awaitable[Status]]
    Show = Callable[[Status, str | None], None]

EVERY = 1.0
"""Seconds between two questions of who watches."""


def status(
    server: Annotated[str, typer.Argument(help="The server, as host:port.")],
    certs: CertsOption = None,
    insecure: InsecureOption = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Ask every second, until all is over or Ctrl-C.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Show how far a server has come, and what its devices are at."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # what goes wrong is said once, and by us
    from tiercut.net.addresses import split_address
    from tiercut.net.asking import ask_status
    from tiercut.net.identity import OPERATOR
    from tiercut.net.logs import Log

    split_address(server, "the server")
    security = find_security(certs, insecure, OPERATOR if insecure else None, Log(stderr=True))

    def ask() -> Awaitable[Status]:
        return ask_status(security, server)

    with _showing(live=watch, json=json) as show:
        run_on_loop(_follow(ask, show) if watch else _once(ask, show))


async def _once(ask: Ask, show: Show) -> None:
    show(await ask(), None)


async def _follow(ask: Ask, show: Show) -> None:
    """Ask again and again. A server that stops answering meanwhile may come back."""
    last, note = await ask(), None
    while last.state != "over":
        show(last, note)
        await asyncio.sleep(EVERY)
        try:
            last, note = await ask(), None
        except MissingError as problem:
            if last.done == last.rounds:
                return
            note = str(problem)
    show(last, note)


@contextmanager
def _showing(*, live: bool, json: bool) -> Iterator[Show]:
    from rich.console import Console

    from tiercut.cli.status_table import draw_status

    console = Console()
    if json:
        yield _write_line if live else _write
    elif not live:
        yield lambda status, note: console.print(draw_status(status, console.width, note))
    elif not console.is_terminal:
        raise InputError(
            "--watch draws on a terminal, and standard output is none; leave it out, or give"
            " --json as well for one line per answer"
        )
    else:
        from rich.live import Live

        with Live(console=console, auto_refresh=False) as screen:
            yield lambda status, note: screen.update(
                draw_status(status, console.width, note), refresh=True
            )


def _write(status: Status, note: str | None) -> None:
    from tiercut.documents import to_json

    typer.echo(to_json(status.model_dump(mode="json")), nl=False)


def _write_line(status: Status, note: str | None) -> None:
    if note is None:  # what was told before is not told twice
        typer.echo(status.model_dump_json())
