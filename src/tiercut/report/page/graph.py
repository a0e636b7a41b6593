"""Who serves whom, as nodes with places: groups stand around the server, clients in their group."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tiercut.fleet import Fleet
from tiercut.report.page.scene import Scene
from tiercut.report.rings import CENTRE, Place, fill_rings, stand_around
from tiercut.units import show_rate, show_throughput

MOST_CLIENTS = 400
"""Beyond this, a picture of every client is a picture of nothing."""
SLOWEST, FASTEST = 9.0, 16.0
"""Radii of nodes."""
SPACING, EDGE, CORE, GAP = 42.0, 24.0, 62.0, 8.0
"""Between clients, around a group, around the server, between groups."""


def draw_graph(scene: Scene) -> dict[str, Any]:
    """The graph as JSON: what each client is, where it stands, and by whom it is served."""
    placement, fleet = scene.placement, scene.fleet
    places, hulls = _arrange(scene)
    leads = placement.is_aggregator & (placement.aggregator_layers < placement.cut_layers)
    nodes = [
        {
            "name": fleet.names[n],
            "x": round(places[n].x, 1),
            "y": round(places[n].y, 1),
            "by": int(placement.aggregator_of[n]),
            "hosts": int(placement.hosted[n]) if leads[n] else 0,
            "speed": round(speed, 3),
            "tip": _facts(scene, n),
        }
        for n, speed in enumerate(_speeds(fleet))
    ]
    return {
        "server": show_throughput(fleet.server_throughput),
        "reach": round(_reach_of_all(places, hulls), 1),
        "hulls": hulls,
        "nodes": nodes,
        "says": _caption(scene, int(leads.sum())),
    }


def _arrange(scene: Scene) -> tuple[list[Place], list[list[float]]]:
    """A place for every client, and the discs that hold groups of more than one."""
    served_by = scene.placement.aggregator_of
    groups = [
        (k, [n for n in np.flatnonzero(served_by == k).tolist() if n != k])
        for k in scene.placement.aggregators.tolist()
    ]
    groups.sort(key=lambda group: len(group[1]))
    radii = [_reach(len(clients)) + (EDGE if clients else FASTEST + 2) for _, clients in groups]
    hearts = stand_around(radii, CORE, GAP)
    places = [CENTRE] * len(served_by)
    for (k, clients), heart in zip(groups, hearts, strict=True):
        places[k] = heart
        petals = fill_rings(len(clients), SPACING, math.atan2(-heart.y, -heart.x))
        for n, petal in zip(clients, petals, strict=True):
            places[n] = petal.moved(heart)
    hulls = [
        [round(heart.x, 1), round(heart.y, 1), round(radius, 1)]
        for (_, clients), heart, radius in zip(groups, hearts, radii, strict=True)
        if clients
    ]
    return places, hulls


def _reach_of_all(places: list[Place], hulls: list[list[float]]) -> float:
    """How far from the server the picture goes."""
    nodes = max(math.hypot(*place) + FASTEST for place in places)
    return GAP + max([nodes, *(math.hypot(x, y) + radius for x, y, radius in hulls)])


def _reach(clients: int) -> float:
    return max((math.hypot(*place) for place in fill_rings(clients, SPACING, 0.0)), default=0.0)


def _speeds(fleet: Fleet) -> list[float]:
    """How fast each client is: 0 for the slowest, 1 for the fastest, on a scale of ratios."""
    speed = np.log(fleet.throughput)
    span = float(np.ptp(speed))
    return ((speed - speed.min()) / span if span else np.zeros(len(speed))).tolist()


def _facts(scene: Scene, n: int) -> list[str]:
    """What a reader who points at a client is told."""
    fleet, placement = scene.fleet, scene.placement
    k = int(placement.aggregator_of[n])
    h, v = int(placement.aggregator_layers[n]), int(placement.cut_layers[n])
    own = f"layers 1 to {h}" if k != n else f"layers 1 to {v}"
    facts = [
        show_throughput(float(fleet.throughput[n])),
        f"{show_rate(float(fleet.to_server[n]))} to the server",
    ]
    if k != n:
        rate = fleet.links.pairs(np.array([n]), np.array([k]))[0]
        facts.append(f"{show_rate(float(rate))} to its aggregator {fleet.names[k]}")
    facts.append(f"runs {own} of its own model")
    if h < v and placement.is_aggregator[n]:
        others = int(placement.hosted[n]) - 1
        facts.append(
            f"hosts layers {h + 1} to {v} of {others} more" if others else "hosts no other"
        )
    return facts


def _caption(scene: Scene, aggregators: int) -> str:
    clients = len(scene.fleet)
    if not scene.scheme.three_tiers:
        return f"{clients:,} clients, each talks to the server itself"
    return f"{aggregators:,} of {clients:,} clients aggregate for the others"
