"""Who serves whom in a small fleet: each group a flower, and all flowers around the server.

An aggregator is the heart of its flower and its clients are the petals, on as many rings as they
need. A node's size and colour say how fast it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tiercut.cost.placement import Placement
from tiercut.fleet import Fleet
from tiercut.report.labels import BELOW_SIZE, INSIDE_SIZE, LINE_HEIGHT, WIDEST, Labels
from tiercut.report.rings import CENTRE, Place, fill_rings, stand_around
from tiercut.report.svg import (
    BOLD,
    PALETTE,
    Markup,
    document,
    fit,
    tag,
    text_width,
    together,
    words,
)
from tiercut.units import show_throughput

MARGIN = 24.0
HEADING_HEIGHT = 80.0
LEGEND_HEIGHT = 64.0
SLOWEST_RADIUS, FASTEST_RADIUS = 10.0, 17.0
SLOWEST_COLOUR, FASTEST_COLOUR = (0xCF, 0xE6, 0xF5), (0x00, 0x72, 0xB2)
SERVER_WIDTH, SERVER_HEIGHT = 104.0, 42.0
RING: Final[dict[str, str | float]] = {"class_": "edge", "fill": "none", "stroke_width": 1.6}
"""What an aggregator has around it."""
GAP = 10.0
"""Between any two things that must not touch."""


@dataclass(frozen=True)
class Flower:
    """One group: its aggregator, the clients it serves, where they are, and how far it reaches."""

    aggregator: int
    clients: list[int]
    heart: Place
    petals: list[Place]
    radius: float

    def rim(self, towards: Place) -> Place:
        """Where the line from the heart to a place leaves the flower."""
        angle = math.atan2(towards.y - self.heart.y, towards.x - self.heart.x)
        return self.heart.away(angle, self.radius)

    def moved(self, by: Place) -> Flower:
        """The same flower elsewhere."""
        return replace(
            self, heart=self.heart.moved(by), petals=[petal.moved(by) for petal in self.petals]
        )


def draw_flowers(placement: Placement, fleet: Fleet, *, title: str, caption: str) -> str:
    """An SVG picture of every client and of whom it is served by."""
    picture = _Picture(placement, fleet, Labels.of(fleet.names, 2 * SLOWEST_RADIUS - 3))
    flowers = _arrange(placement, picture.labels)
    legend, legend_width = picture.legend()
    left, top, right, bottom = _bounds(flowers)
    widest = max(right - left, legend_width, text_width(title, 17 * BOLD), text_width(caption, 12))
    width, height = 2 * MARGIN + widest, HEADING_HEIGHT + bottom - top + LEGEND_HEIGHT
    server = Place((width - left - right) / 2, HEADING_HEIGHT - top)
    return document(
        width,
        height,
        words(MARGIN, 32, title, size=17, weight=600),
        words(MARGIN, 54, caption, size=12, look="muted"),
        *picture.draw(server, [flower.moved(server) for flower in flowers]),
        tag("g", legend, transform=f"translate({MARGIN} {height - 26:.1f})"),
        label=title,
    )


# ---------------------------------------------------------------------------------------- layout


def _arrange(placement: Placement, labels: Labels) -> list[Flower]:
    """All flowers, around a server at the centre."""
    line = LINE_HEIGHT if labels.where != "inside" else 0.0
    spacing = max(2 * FASTEST_RADIUS + GAP, labels.width + GAP)
    edge = GAP / 2 + max(FASTEST_RADIUS + line, labels.width / 2)
    groups = _groups(placement)
    radii = [_outermost(len(clients), spacing) + edge for _, clients in groups]
    hearts = stand_around(radii, SERVER_WIDTH / 2, GAP)
    flowers = []
    for (k, clients), radius, heart in zip(groups, radii, hearts, strict=True):
        petals = fill_rings(len(clients), spacing, math.atan2(-heart.y, -heart.x))
        flowers.append(Flower(k, clients, heart, [petal.moved(heart) for petal in petals], radius))
    return flowers


def _groups(placement: Placement) -> list[tuple[int, list[int]]]:
    """Every aggregator with the clients it serves besides itself, the smallest group first."""
    groups = []
    for k in placement.aggregators.tolist():
        members = np.flatnonzero(placement.aggregator_of == k)
        groups.append((k, members[members != k].tolist()))
    return sorted(groups, key=lambda group: len(group[1]))


def _outermost(number: int, spacing: float) -> float:
    """How far from its heart a flower's last petal is."""
    return max((math.hypot(*place) for place in fill_rings(number, spacing, 0.0)), default=0.0)


def _bounds(flowers: list[Flower]) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of everything around a server at the centre."""
    discs = [(CENTRE, SERVER_WIDTH / 2), *((f.heart, f.radius) for f in flowers)]
    return (
        min(place.x - radius for place, radius in discs),
        min(place.y - radius for place, radius in discs),
        max(place.x + radius for place, radius in discs),
        max(place.y + radius for place, radius in discs),
    )


# --------------------------------------------------------------------------------------- drawing


@dataclass(frozen=True, eq=False)
class _Picture:
    """What drawing a node needs to know."""

    placement: Placement
    fleet: Fleet
    labels: Labels

    @cached_property
    def speed(self) -> NDArray[np.float64]:
        """How fast each client is: 0 for the slowest, 1 for the fastest, on a scale of ratios."""
        speed = np.log(self.fleet.throughput)
        span = np.ptp(speed)
        return (speed - speed.min()) / span if span else np.zeros(len(speed))

    @property
    def has_aggregators(self) -> bool:
        """Whether any layers are left to an aggregator at all."""
        return bool((self.placement.aggregator_layers < self.placement.cut_layers).any())

    def draw(self, server: Place, flowers: list[Flower]) -> Iterator[Markup]:
        """Lines to the server first, which other groups' discs may cover; nodes last, on top."""
        yield from (_line(server, flower.heart, 1.4) for flower in flowers)
        for flower in flowers:
            if flower.clients:
                yield _circle(flower.heart, flower.radius, class_="band")
                yield _line(flower.heart, flower.rim(server), 1.4)
                yield from (_line(flower.heart, petal, 1.0) for petal in flower.petals)
        yield self._server(server)
        for flower in flowers:
            yield from self._aggregator(flower)
            for client, petal in zip(flower.clients, flower.petals, strict=True):
                by = self.fleet.names[flower.aggregator]
                yield self._node(client, petal, f"served by {by}")

    def _server(self, place: Place) -> Markup:
        box = tag(
            "rect",
            x=place.x - SERVER_WIDTH / 2,
            y=place.y - SERVER_HEIGHT / 2,
            width=SERVER_WIDTH,
            height=SERVER_HEIGHT,
            rx=6,
            fill=PALETTE["green"],
        )
        speed = show_throughput(self.fleet.server_throughput)
        return together(
            [
                box,
                words(place.x, place.y - 3, "server", look="on-light", anchor="middle", weight=600),
                words(place.x, place.y + 12, speed, size=10, look="on-light", anchor="middle"),
            ]
        )

    def _aggregator(self, flower: Flower) -> Iterator[Markup]:
        k, models = flower.aggregator, len(flower.clients) + 1
        if not self.has_aggregators:
            yield self._node(k, flower.heart, "on its own")
        else:
            yield _circle(flower.heart, _radius(self.speed[k]) + 3, **RING)
            says = "aggregator of 1 model" if models == 1 else f"aggregator of {models} models"
            yield self._node(k, flower.heart, says)
        if self.labels.where == "groups":
            bottom = flower.heart.y + flower.radius - GAP / 2
            yield _name(flower.heart.x, bottom, self.labels.short[k], 2 * flower.radius - GAP)

    def _node(self, client: int, place: Place, role: str) -> Markup:
        speed, label = float(self.speed[client]), self.labels.short[client]
        throughput = show_throughput(float(self.fleet.throughput[client]))
        parts = [
            tag("title", f"{self.fleet.names[client]}, {role}, {throughput}"),
            _disc(place, speed),
        ]
        if self.labels.where == "inside":
            look = "on-dark" if speed > 0.7 else "on-light"
            middle = place.y + INSIDE_SIZE / 3
            parts.append(
                words(place.x, middle, label, size=INSIDE_SIZE, look=look, anchor="middle")
            )
        elif self.labels.where == "below":
            bottom = place.y + _radius(speed) + LINE_HEIGHT - 2
            parts.append(_name(place.x, bottom, label, WIDEST))
        return tag("g", *parts)

    def legend(self) -> tuple[Markup, float]:
        """What sizes, colours, rings and names mean, in a line; and its width."""
        slow, fast = float(self.fleet.throughput.min()), float(self.fleet.throughput.max())
        entries = [(_disc(CENTRE, 0.0), show_throughput(slow))]
        if slow < fast:
            entries.append((_disc(CENTRE, 1.0), show_throughput(fast)))
        if self.has_aggregators:
            entries.append((_circle(CENTRE, SLOWEST_RADIUS, **RING), "aggregator"))
        x, parts = 0.0, []
        for sample, meaning in entries:
            parts.append(tag("g", sample, transform=f"translate({x + FASTEST_RADIUS:.1f} -4)"))
            x += 2 * FASTEST_RADIUS + 8
            parts.append(words(x, 0, meaning))
            x += text_width(meaning, 11) + 16
        if self.labels.start:
            start = fit(self.labels.start, 2 * WIDEST, 11)
            note = f"All names start with '{start}'."
            parts.append(words(x, 0, note, look="muted"))
            x += text_width(note, 11)
        return together(parts), x


def _disc(place: Place, speed: float) -> Markup:
    """A node that is so fast."""
    channels = (
        round(_between(slow, fast, speed))
        for slow, fast in zip(SLOWEST_COLOUR, FASTEST_COLOUR, strict=True)
    )
    colour = "#" + "".join(f"{channel:02x}" for channel in channels)
    return _circle(place, _radius(speed), fill=colour, stroke=PALETTE["blue"], stroke_width=1.0)


def _radius(speed: float) -> float:
    return _between(SLOWEST_RADIUS, FASTEST_RADIUS, speed)


def _name(x: float, bottom: float, text: str, room: float) -> Markup:
    """A name below a node, legible across the lines behind it."""
    short = fit(text, room, BELOW_SIZE)
    return words(x, bottom, short, size=BELOW_SIZE, look="halo", anchor="middle")


def _between(low: float, high: float, share: float) -> float:
    return low + share * (high - low)


def _circle(place: Place, radius: float, **attributes: str | float) -> Markup:
    return tag("circle", cx=place.x, cy=place.y, r=radius, **attributes)


def _line(start: Place, end: Place, width: float) -> Markup:
    return tag(
        "line",
        x1=start.x,
        y1=start.y,
        x2=end.x,
        y2=end.y,
        stroke=PALETTE["grey"],
        stroke_width=width,
    )
