"""Which nodes a timeline shows, and where: one lane per node, one row per model it works on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tiercut.cost.placement import Placement
from tiercut.cost.timeline import SERVER, Event

RADIO, PROCESSOR = -2, -3
"""The rows of a lane that show its node's radio and processor; others are named after clients."""

ROW_HEIGHT = 18.0
THIN_ROW_HEIGHT = 8.0
LANE_HEIGHT = 32.0
ROW_GAP = 2.0
LANE_PADDING = 6.0


@dataclass(frozen=True)
class Row:
    """A strip of a lane, for what one model needs of the lane's node."""

    top: float
    height: float

    @property
    def middle(self) -> float:
        """The height at which arrows leave and arrive."""
        return self.top + self.height / 2


@dataclass(frozen=True)
class Lane:
    """One node's part of the picture; tasks that run at the same time are in different rows."""

    node: int
    top: float
    height: float
    rows: dict[int, Row]

    def row(self, client: int) -> Row:
        """Where an arrow for `client` ends: at that client's row, or at the one for everybody."""
        whole = Row(self.top, self.height)
        return self.rows.get(client, self.rows.get(SERVER, whole))


def choose_nodes(path: Iterable[Event], placement: Placement, most: int) -> list[int]:
    """The server and up to `most` clients, in the order of their lanes.

    First come the clients on the critical path, then the others of their groups, then the rest. An
    aggregator comes before its clients, so that nobody is shown without the one that serves it.
    """
    served_by = placement.aggregator_of
    clients = np.arange(len(served_by))
    touched = {node for event in path for node in (event.node, event.peer)} - {SERVER}
    on_path = np.array(sorted(touched), dtype=np.int64)
    critical = np.isin(clients, np.concatenate([on_path, served_by[on_path]]))
    near = np.isin(served_by, served_by[critical])
    rank = np.where(critical, 0, np.where(near, 1, 2))
    follows = ~placement.is_aggregator
    chosen = np.lexsort((clients, follows, served_by, rank))[:most]
    order = np.lexsort((chosen, rank[chosen], follows[chosen], served_by[chosen]))
    return [SERVER, *(int(n) for n in chosen[order])]


def is_drawn(event: Event, nodes: Sequence[int]) -> bool:
    """Whether an event takes time, and all the nodes it concerns have a lane."""
    concerned = {event.node, event.client} | ({event.peer} if event.kind == "send" else set())
    return event.end > event.start and event.kind != "wait" and concerned <= {SERVER, *nodes}


def home(event: Event, nodes: Sequence[int]) -> int:
    """The node whose lane shows an event; a transmission runs along the lower of its two lanes."""
    if event.kind != "send":
        return event.node
    return max(event.node, event.peer, key=nodes.index)


def row_key(event: Event) -> int:
    """The row of its home lane that an event is in."""
    return {"radio": RADIO, "processor": PROCESSOR}.get(event.kind, event.client)


def lay_out(events: Sequence[Event], nodes: Sequence[int], top: float) -> dict[int, Lane]:
    """A lane per node from `top` downwards, with a row for each model that `events` work on.

    A row that only transmissions use is thin.
    """
    heights: dict[int, dict[int, float]] = defaultdict(dict)
    for event in events:
        rows, key = heights[home(event, nodes)], row_key(event)
        height = ROW_HEIGHT if event.kind == "compute" else THIN_ROW_HEIGHT
        rows[key] = max(height, rows.get(key, 0.0))
    lanes = {}
    for node in nodes:
        lanes[node] = _lane(node, heights[node], nodes, top)
        top += lanes[node].height
    return lanes


def _lane(node: int, heights: dict[int, float], nodes: Sequence[int], top: float) -> Lane:
    """The node's own model first, then those it hosts, then what concerns everybody.

    Hosted models stand in the opposite order of their clients' lanes, so that arrows nest.
    """
    order = dict.fromkeys((node, *reversed(nodes), SERVER, PROCESSOR, RADIO))
    keys = [key for key in order if key in heights]
    used = sum(heights[key] for key in keys) + ROW_GAP * max(0, len(keys) - 1)
    height = max(LANE_HEIGHT, used + 2 * LANE_PADDING)
    rows = {}
    here = top + (height - used) / 2
    for key in keys:
        rows[key] = Row(here, heights[key])
        here += heights[key] + ROW_GAP
    return Lane(node, top, height, rows)
