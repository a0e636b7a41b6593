"""Who serves whom: as a picture, and as a table for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tiercut.cost.placement import Ints, Placement
from tiercut.fleet import Fleet
from tiercut.plan.plan import Plan
from tiercut.report.flowers import draw_flowers
from tiercut.report.histogram import draw_sizes
from tiercut.report.svg import printable
from tiercut.units import show_size, show_throughput, show_time

if TYPE_CHECKING:
    from rich.table import Table

MOST_CLIENTS_DRAWN = 120
"""Beyond this, a picture of every client is a picture of nothing."""
MOST_NAMES = 4
"""How many of its clients' names a row of the table shows."""


def draw_groups(plan: Plan, fleet: Fleet) -> str:
    """An SVG picture of the groups; for a large fleet, of how large the groups are."""
    draw = draw_flowers if len(fleet) <= MOST_CLIENTS_DRAWN else draw_sizes
    return draw(plan.placement, fleet, title=_title(plan), caption=_caption(plan))


def _title(plan: Plan) -> str:
    clients = _count(len(plan.placement.aggregator_of), "client")
    if not plan.scheme.three_tiers:
        return f"{plan.scheme.title}: {clients}, each on its own"
    aggregators = _count(len(plan.placement.aggregators), "aggregator")
    return f"{plan.scheme.title}: {clients}, {aggregators}"


def _caption(plan: Plan) -> str:
    """The layers and the price, in a line."""
    h, v = plan.placement.aggregator_layers, plan.placement.cut_layers
    cut = f"v = {v[0]}" if (v == v[0]).all() else f"v = {v.min()} to {v.max()}"
    layers = f"h = {h[0]}, {cut}" if plan.scheme.three_tiers else cut
    return (
        f"{layers}; a round takes {show_time(plan.seconds.round)}"
        f" and moves {show_size(plan.traffic.total)}"
    )


def groups_table(plan: Plan, fleet: Fleet, most: int = 15) -> Table:
    """The `most` aggregators that host the most models, and a row that counts the others.

    Of two that host as many, the slower one has the heavier load and comes first.
    """
    from rich.table import Table
    from rich.text import Text

    placement = plan.placement
    table = Table(title=Text(_title(plan)), caption=Text(_caption(plan)))
    table.add_column("aggregator")
    table.add_column("throughput", justify="right")
    table.add_column("models", justify="right")
    table.add_column("its clients")
    ranked = _by_load(placement, fleet)
    for k in ranked[:most]:
        table.add_row(
            Text(printable(fleet.names[k])),
            show_throughput(float(fleet.throughput[k])),
            f"{placement.hosted[k]:,}",
            Text(_clients_of(int(k), placement, fleet)),
        )
    rest = ranked[most:]
    if len(rest):
        table.add_section()
        models = f"{placement.hosted[rest].sum():,}"
        table.add_row(f"and {len(rest):,} more", "", models, "")
    return table


def _by_load(placement: Placement, fleet: Fleet) -> Ints:
    """The aggregators, the one with the heaviest load first."""
    k = placement.aggregators
    return k[np.lexsort((k, fleet.throughput[k], -placement.hosted[k]))]


def _clients_of(k: int, placement: Placement, fleet: Fleet) -> str:
    """The first few names of those that k serves besides itself."""
    members = np.flatnonzero(placement.aggregator_of == k)
    others = members[members != k]
    if not len(others):
        return "only itself"
    shown = [printable(fleet.names[n]) for n in others[:MOST_NAMES]]
    more = len(others) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
