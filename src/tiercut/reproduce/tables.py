"""Every table that needs no training, by its name on the command line."""

from __future__ import annotations

from typing import Protocol

from tiercut.reproduce import table_iv, table_ix, table_v, table_vii, table_viii
from tiercut.reproduce.progress import Watch
from tiercut.reproduce.results import Table
from tiercut.reproduce.settings import Settings


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
