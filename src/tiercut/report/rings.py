"""Places on rings: clients around their aggregator, and groups around the server."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

TURN = math.pi * (3 - math.sqrt(5))
"""The golden angle: rings turned by it against each other never line up."""


class Place(NamedTuple):
    """A point of a picture; y grows downwards."""

    x: float
    y: float

    def away(self, angle: float, distance: float) -> Place:
        """The point at that distance, in that direction."""
        return Place(self.x + distance * math.cos(angle), self.y + distance * math.sin(angle))

    def moved(self, by: Place) -> Place:
        """The same point in a picture that was moved."""
        return Place(self.x + by.x, self.y + by.y)


CENTRE = Place(0.0, 0.0)


def fill_rings(number: int, spacing: float, facing: float) -> list[Place]:
    """`number` places around the centre and no closer than `spacing`, inner rings filled first.

    The direction `facing` is kept free, for the line that comes from there.
    """
    places: list[Place] = []
    ring = 0
    while len(places) < number:
        ring += 1
        room = math.floor(math.pi / math.asin(1 / (2 * ring)) + 1e-9)
        here = min(room, number - len(places))
        step = 2 * math.pi / here
        places += [CENTRE.away(facing + (i + 0.5) * step, ring * spacing) for i in range(here)]
    return places


def stand_around(radii: Sequence[float], core: float, gap: float) -> list[Place]:
    """Where discs stand around a core at the centre, ring by ring, without touching anything.

    The smallest discs should come first: they need the least room near the centre.
    """
    places: list[Place] = []
    turn = 0.0
    while rest := radii[len(places) :]:
        discs = rest[: _room(rest, core, gap)]
        distance = core + gap + max(discs)
        angles = _spread([_half_angle(disc, distance, gap) for disc in discs])
        places += [CENTRE.away(turn + angle, distance) for angle in angles]
        core = distance + max(discs)
        turn += TURN
    return places


def _room(radii: Sequence[float], core: float, gap: float) -> int:
    """How many of the first discs fit in one ring right around the core; one always does."""
    number = 1
    while number < len(radii):
        distance = core + gap + max(radii[: number + 1])
        taken = sum(_half_angle(radius, distance, gap) for radius in radii[: number + 1])
        if taken > math.pi:
            break
        number += 1
    return number


def _half_angle(radius: float, distance: float, gap: float) -> float:
    """Half of the angle that a disc and its share of the gap take up, seen from the centre."""
    return math.asin((radius + gap / 2) / distance)


def _spread(halves: Sequence[float]) -> list[float]:
    """The middles of angles of these half widths, with the rest of the circle shared between."""
    slack = 2 * (math.pi - sum(halves)) / len(halves)
    middles, start = [], -halves[0]
    for half in halves:
        middles.append(start + half)
        start += 2 * half + slack
    return middles
