"""Every table that can be made again, by its name on the command line."""

from __future__ import annotations

from typing import Protocol

from tiercut.errors import InputError, nearest
from tiercut.reproduce import table_iv, table_ix, table_v, table_vii, table_viii
from tiercut.reproduce.progress import Watch
from tiercut.reproduce.results import Table
from tiercut.reproduce.settings import Settings

ALL = "all"


class Maker(Protocol):
    """Makes one table."""

    def __call__(self, settings: Settings, *, watch: Watch) -> Table:
        """The table on the paper's settings."""


TABLES: dict[str, Maker] = {
    "table-iv": table_iv.make,
    "table-v": table_v.make,
    "table-vii": table_vii.make,
    "table-viii": table_viii.make,
    "table-ix": table_ix.make,
}


def tables_named(name: str) -> dict[str, Maker]:
    """The table called `name`, or all of them."""
    if name == ALL:
        return TABLES
    if name not in TABLES:
        valid = (*TABLES, ALL)
        raise InputError(
            f"there is no table {name!r}{nearest(name, valid)}; expected one of {', '.join(valid)}"
        )
    return {name: TABLES[name]}
