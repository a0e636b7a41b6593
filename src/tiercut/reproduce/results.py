"""A reproduced table as a value, and its two files: result.json, and README.md made from that."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any, Self

from tiercut import __version__
from tiercut.documents import to_json, write_text


@dataclass(frozen=True)
class Spread:
    """What several fleets gave: a typical value, and the range around it."""

    typical: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float], typical: float | None = None) -> Self:
        """The spread of `values` around their median, or around a `typical` one."""
        centre = median(values) if typical is None else typical
        return cls(centre, min(values), max(values))


Cell = str | float | Spread | None


@dataclass(frozen=True)
class Table:
    """A table of the paper made again: every cell of `rows` has a column."""

    title: str
    method: tuple[str, ...]
    """How our figures were got, a sentence each."""
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    differences: tuple[str, ...]
    """Why ours are not the paper's, a sentence each."""
    seeds: tuple[int, ...]
    pictures: tuple[tuple[str, str], ...] = ()
    """What is in which file beside the page."""


@dataclass(frozen=True)
class Origin:
    """What a table was computed on."""

    device: dict[str, Any]
    versions: dict[str, str]

    @classmethod
    def here(cls) -> Self:
        """The machine that runs this."""
        return cls(
            device={"platform": platform.platform(), "cpus": os.cpu_count()},
            versions={
                "tiercut": __version__,
                "python": platform.python_version(),
                "numpy": version("numpy"),
                "scipy": version("scipy"),
            },
        )


def to_document(table: Table, command: str, origin: Origin | None = None) -> dict[str, Any]:
    """The JSON object of result.json, with all it takes to make it again."""
    made_on = origin or Origin.here()
    pictures = {"pictures": [list(one) for one in table.pictures]} if table.pictures else {}
    return {
        "version": 1,
        "title": table.title,
        "method": list(table.method),
        "columns": list(table.columns),
        "rows": [[_plain(cell) for cell in row] for row in table.rows],
        "differences": list(table.differences),
        **pictures,
        "command": command,
        "device": made_on.device,
        "seeds": list(table.seeds),
        "versions": made_on.versions,
    }


def _plain(cell: Cell) -> Any:
    return asdict(cell) if isinstance(cell, Spread) else cell


def show_cell(cell: Any) -> str:
    """A cell of result.json for a person: `9 (8 to 9)` where fleets differ."""
    if cell is None:
        return "-"
    if isinstance(cell, dict):
        typical, low, high = (show_cell(cell[key]) for key in ("typical", "low", "high"))
        return typical if low == high else f"{typical} ({low} to {high})"
    if isinstance(cell, int | float):
        # Adding 0.0 turns the -0.0 that rounding leaves into 0.
        return f"{cell:.0f}" if abs(cell) >= 100 else f"{round(cell, 2) + 0.0:.3g}"
    return str(cell)


def to_markdown(document: dict[str, Any]) -> str:
    """README.md, from nothing but result.json."""
    device, versions = document["device"], document["versions"]
    accelerator = f"{device['accelerator']}, " if "accelerator" in device else ""
    lines = [
        f"# {document['title']}",
        "",
        *(f"- {sentence}" for sentence in document["method"]),
        "",
        _row(document["columns"]),
        _row(["---"] * len(document["columns"])),
        *(_row([show_cell(cell) for cell in row]) for row in document["rows"]),
        "",
        *(f"![{what}]({file})\n" for what, file in document.get("pictures", ())),
        *_differences(document["differences"]),
        "## How it was made",
        "",
        f"- command: `{document['command']}`",
        f"- device: {accelerator}{device['platform']}, {device['cpus']} CPUs",
        f"- seeds: {', '.join(map(str, document['seeds']))}",
        f"- versions: {', '.join(f'{name} {number}' for name, number in versions.items())}",
        "",
        "This page is made from result.json beside it.",
    ]
    return "\n".join(lines) + "\n"


def _differences(sentences: Sequence[str]) -> list[str]:
    listed = [f"- {sentence}" for sentence in sentences]
    return ["## Differences", "", *listed, ""] if listed else []


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def write_result(document: dict[str, Any], folder: Path) -> None:
    """Both files of a result, into its folder."""
    write_text(folder / "result.json", to_json(document))
    write_text(folder / "README.md", to_markdown(document))
