"""One batch as a timeline, ready to be drawn at any zoom: lanes, rows and events.

What is shown and in which row is decided as for `tiercut timeline`; only time is left to scale.
"""

from __future__ import annotations

from typing import Any

from tiercut.cost import Placement, Workload
from tiercut.cost.timeline import SERVER, Event, batch_timeline
from tiercut.report.lanes import Lane, choose_nodes, home, is_drawn, lay_out, row_key
from tiercut.report.looks import Look, look_of
from tiercut.report.page.scene import Scene
from tiercut.units import show_throughput

MOST_LANES = 14


def draw_batch(scene: Scene, work: Workload) -> dict[str, Any]:
    """The timeline as JSON; nodes are numbers, -1 the server."""
    timeline = batch_timeline(scene.fleet, work, scene.placement, scene.scheme, scene.plan.cost)
    critical = set(timeline.critical_path())
    path = [timeline.events[i] for i in sorted(critical)]
    nodes = choose_nodes(path, scene.placement, MOST_LANES)
    shown = [
        (event, i in critical) for i, event in enumerate(timeline.events) if is_drawn(event, nodes)
    ]
    lanes = lay_out([event for event, _ in shown], nodes, 0.0)
    looks = list(dict.fromkeys(look_of(event) for event, _ in shown))
    labels = list(dict.fromkeys(event.label for event, _ in shown))
    named = {event.node for event, _ in shown} | {event.peer for event, _ in shown} | {*nodes}
    return {
        "seconds": timeline.end,
        "hidden": len(scene.fleet) + 1 - len(nodes),
        "clients": len(scene.fleet),
        "height": max(lane.top + lane.height for lane in lanes.values()),
        "names": {str(n): _name(n, scene) for n in sorted(named)},
        "lanes": [_lane(lane, scene) for lane in lanes.values()],
        "labels": labels,
        "looks": [_look(look, [e for e, _ in shown if look_of(e) == look]) for look in looks],
        "events": [
            {
                "look": looks.index(look_of(event)),
                "label": labels.index(event.label),
                "critical": on_path,
                **_when_and_who(event),
                **_where(event, lanes, nodes),
            }
            for event, on_path in shown
        ],
    }


def _name(node: int, scene: Scene) -> str:
    return "server" if node == SERVER else scene.fleet.names[node]


def _lane(lane: Lane, scene: Scene) -> dict[str, Any]:
    return {
        "node": lane.node,
        "role": _role(lane.node, scene),
        "leads": _leads(lane.node, scene.placement),
        "top": lane.top,
        "height": lane.height,
    }


def _leads(node: int, placement: Placement) -> bool:
    """Whether a node is the server or runs an aggregator's layers."""
    if node == SERVER:
        return True
    between = placement.aggregator_layers[node] < placement.cut_layers[node]
    return bool(between and placement.is_aggregator[node])


def _role(node: int, scene: Scene) -> str:
    if node == SERVER:
        return show_throughput(scene.fleet.server_throughput)
    if not _leads(node, scene.placement):
        return show_throughput(float(scene.fleet.throughput[node]))
    models = int(scene.placement.hosted[node])
    return "hosts 1 model" if models == 1 else f"hosts {models} models"


def _look(look: Look, events: list[Event]) -> dict[str, Any]:
    return {
        "meaning": look.meaning,
        "colour": look.colour,
        "text": look.text,
        "dashes": look.dashes,
        "kind": events[0].kind,
    }


def _when_and_who(event: Event) -> dict[str, Any]:
    return {
        "kind": event.kind,
        "from": float(f"{event.start:.7g}"),
        "to": float(f"{event.end:.7g}"),
        "node": event.node,
        "peer": event.peer,
        "client": event.client,
    }


def _where(event: Event, lanes: dict[int, Lane], nodes: list[int]) -> dict[str, Any]:
    """The row of a computation; of a transmission, where it leaves and where it arrives."""
    if event.kind == "send":
        leaves, arrives = (lanes[n].row(event.client).middle for n in (event.node, event.peer))
        return {"y": leaves, "target": arrives, "late": home(event, nodes) == event.node}
    row = lanes[event.node].rows[row_key(event)]
    return {"y": row.top, "height": row.height}
