"""Everything that can be made again, by its name on the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tiercut.errors import InputError, nearest
from tiercut.reproduce import (
    contest,
    figure_2,
    figures_8_and_9,
    gains,
    gains_network,
    least,
    table_iii,
    table_vi,
    tables,
)
from tiercut.reproduce.contest import VERSIONS
from tiercut.reproduce.figures_4_to_7 import TUNED
from tiercut.reproduce.results import Table
from tiercut.reproduce.study import Study
from tiercut.reproduce.tables import Maker
from tiercut.reproduce.tunings import TUNINGS, Tuning

ALL = "all"
STUDIES: dict[str, Study] = {
    **figure_2.STUDIES,
    **contest.STUDIES,
    **figures_8_and_9.STUDIES,
    **table_vi.STUDIES,
}
"""What needs training."""
FROM_STUDIES: dict[str, Callable[[Path], Table]] = {
    table_iii.NAME: table_iii.make,
    gains.NAME: gains.make,
    gains_network.NAME: gains_network.make,
    least.NAME: least.make,
}
"""What is made from the folder of studies."""
PARTS = ("figure-2", "table-vi")
"""Names that stand for a study of each of several models."""


@dataclass(frozen=True)
class Choice:
    """What a name stands for."""

    tables: dict[str, Maker]
    """Planned, not trained."""
    studies: dict[str, Study]
    from_studies: dict[str, Callable[[Path], Table]]
    tunings: dict[str, Tuning] = field(default_factory=dict)


def choose(name: str, *, tuned: bool = False) -> Choice:
    """What is called `name`, or everything; of figures, the version with tuned rivals if asked."""
    if tuned:
        return Choice({}, {_tuned(name): STUDIES[_tuned(name)]}, {})
    if name == ALL:
        usual = {key: study for key, study in STUDIES.items() if not key.endswith(VERSIONS)}
        return Choice(tables.TABLES, usual, FROM_STUDIES)
    parts = [key for key in STUDIES if name in PARTS and key.startswith(f"{name}-")]
    known = [*tables.TABLES, *FROM_STUDIES, *PARTS, *STUDIES, *TUNINGS, ALL]
    if name not in known:
        raise InputError(
            f"there is no table, figure or tuning {name!r}{nearest(name, known)}; expected one of"
            f" {', '.join(known)}"
        )
    return Choice(
        {key: make for key, make in tables.TABLES.items() if key == name},
        {key: study for key, study in STUDIES.items() if key == name or key in parts},
        {key: make for key, make in FROM_STUDIES.items() if key == name},
        {key: tuning for key, tuning in TUNINGS.items() if key == name},
    )


def _tuned(name: str) -> str:
    known = [key.removesuffix(TUNED) for key in STUDIES if key.endswith(TUNED)]
    if name not in known:
        raise InputError(
            f"--tuned: there is no tuned version of {name!r}; expected one of {', '.join(known)}"
        )
    return f"{name}{TUNED}"
