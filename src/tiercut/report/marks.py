"""Which colour and mark each scheme has: the same one in every chart, table and figure."""

from __future__ import annotations

from collections.abc import Sequence

KNOWN = {"aa-hsfl-ll": 0, "sfl": 1, "locsfl": 2, "dtfl": 3, "multihop": 4, "hsfl-ll": 5}
"""Looks of the shipped schemes, which therefore look alike in all reports."""
LOOKS = 8
"""How many there are; assets/page.css and COLOURS give each its colour."""
COLOURS = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#b0568c",
    "#c08400",
    "#4a9fd4",
    "#66717d",
    "#7a5c3e",
)
"""After Okabe and Ito, the paler ones darkened until thin lines can be seen on white."""
MARKERS = "osD^vPXh"


NAME_ROOM, TITLE_ROOM = 150.0, 480.0
"""How wide names and titles may be in a figure, in points."""


def looks_of(schemes: Sequence[str]) -> dict[str, int]:
    """A look for each scheme; two have the same one only where there are more than LOOKS."""
    looks = {name: KNOWN[name] for name in schemes if name in KNOWN}
    free = [look for look in range(LOOKS) if look not in looks.values()] or [*range(LOOKS)]
    others = [name for name in schemes if name not in KNOWN]
    looks |= {name: free[i % len(free)] for i, name in enumerate(reversed(others))}
    return {name: looks[name] for name in schemes}
