"""A server's status as a table for people."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from tiercut.report.svg import printable
from tiercut.units import show_size, show_time

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tiercut.net.status import DeviceStatus, LastRound, Status

NOTHING = "\N{EN DASH}"
WIDE = 110
"""Columns of a terminal that has room for addresses too."""


def draw_status(status: Status, width: int, note: str | None = None) -> RenderableType:
    """A few sentences and a row per device; `note` is something to keep in mind."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    columns = {name: cell for name, cell in COLUMNS.items() if width >= WIDE or name != "address"}
    table = Table()
    for name in columns:
        table.add_column(name, overflow="fold")
    for device in status.devices:
        table.add_row(*(Text(printable(cell(device))) for cell in columns.values()))
    lines = [Text(printable(line)) for line in _sentences(status)]
    parts = [*lines, table] if status.devices else lines
    return Group(*parts, *([] if note is None else [Text(printable(note), style="bold")]))


def _sentences(status: Status) -> Iterator[str]:
    yield f"{status.scenario}, {status.scheme}: {_doing(status)}"
    if status.last is not None:
        yield _last(status.last)
    counts = [*_counted("lost", status.losses), *_counted("refused", status.refusals)]
    if status.restarts:
        counts.append(f"rounds started again {status.restarts}")
    if counts:
        yield f"since the server was started: {', '.join(counts)}"


def _doing(status: Status) -> str:
    there = sum(device.joined for device in status.devices)
    devices = f"{there} of {status.expected} devices are there"
    if status.state != "training":
        return f"{status.state}, {devices}"
    if status.round is None:
        return f"between rounds, {status.done} of {status.rounds} are done, {devices}"
    epochs = f"epoch {min((status.epoch or 0) + 1, status.epochs)} of {status.epochs}"
    return f"training round {status.round} of {status.rounds}, {epochs}, {devices}"


def _last(last: LastRound) -> str:
    says = f"round {last.round}: accuracy {last.accuracy:.2%}"
    if last.real is not None:
        predicted, measured = last.real.predicted.round, last.real.measured.round
        says += f", predicted {show_time(predicted)}, measured {show_time(measured)}"
        if last.real.attempts > 1:
            says += f", {last.real.attempts} attempts"
    return f"{says}, {last.lost} of {last.clients} clients lost"


def _counted(what: str, counts: Mapping[str, int]) -> list[str]:
    return [f"{what} ({kind}) {count}" for kind, count in sorted(counts.items())]


def _role(device: DeviceStatus) -> str:
    if device.role is None:
        return NOTHING
    if device.serves:
        return f"aggregator of {device.serves}"
    return "client" if device.served_by is None else f"client of {device.served_by}"


def _at(device: DeviceStatus) -> str:
    return device.at if device.reason is None else f"{device.at}: {device.reason}"


def _heard(device: DeviceStatus) -> str:
    return NOTHING if device.silent is None else f"{device.silent:.0f} s ago"


COLUMNS: Mapping[str, Callable[[DeviceStatus], str]] = {
    "device": lambda device: device.name,
    "address": lambda device: device.address or NOTHING,
    "examples": lambda device: NOTHING if device.examples is None else f"{device.examples:,}",
    "role": _role,
    "at": _at,
    "heard": _heard,
    "sent": lambda device: show_size(device.sent),
    "received": lambda device: show_size(device.received),
}
