"""How each kind of event looks in a timeline, and the legend that says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tiercut.cost.timeline import SERVER, Event
from tiercut.report.svg import PALETTE, Markup, tag, text_width, together, words

WIDTH = 1100.0
MARGIN = 20.0
LINE_HEIGHT = 20.0
SAMPLE_WIDTH = 22.0


class Look(NamedTuple):
    """How one kind of event is drawn, and what the legend says it is."""

    meaning: str
    colour: str
    text: str = "on-light"
    dashes: str | None = None


COMPUTE_LOOKS = {
    ("client", "FP"): Look("client FP", PALETTE["sky"]),
    ("client", "BP"): Look("client BP", PALETTE["blue"], text="on-dark"),
    ("aggregator", "FP"): Look("aggregator FP", PALETTE["orange"]),
    ("aggregator", "BP"): Look("aggregator BP", PALETTE["vermillion"]),
    ("server", "FP+BP"): Look("server FP and BP", PALETTE["green"]),
}
SEND_LOOKS = {
    "activations h": Look("activations of layer h", PALETTE["grey"]),
    "gradients h": Look("gradients of layer h", PALETTE["grey"], dashes="5 3"),
    "activations v": Look("activations of layer v", PALETTE["purple"]),
    "gradients v": Look("gradients of layer v", PALETTE["purple"], dashes="5 3"),
}
BUSY_LOOKS = {
    "radio": Look("radio busy", PALETTE["grey"]),
    "processor": Look("processor busy", PALETTE["yellow"]),
}


def look_of(event: Event) -> Look:
    """How an event is drawn."""
    if event.kind in BUSY_LOOKS:
        return BUSY_LOOKS[event.kind]
    if event.kind == "send":
        return SEND_LOOKS.get(event.label, Look(event.label, PALETTE["grey"]))
    direction, layers = event.label.split(" ", 1)
    tier = "client" if layers.startswith("1..") else "aggregator"
    return COMPUTE_LOOKS["server" if event.node == SERVER else tier, direction]


def legend(events: Sequence[Event], y: float) -> tuple[Markup, float]:
    """The looks that occur among `events`, from the baseline `y` down; and the last baseline."""
    used = {look_of(event): event.kind for event in events}
    known = [*COMPUTE_LOOKS.values(), *SEND_LOOKS.values(), *BUSY_LOOKS.values()]
    order = sorted(used, key=lambda look: known.index(look) if look in known else len(known))
    x, parts = MARGIN, []
    for look in [*order, None]:
        meaning = look.meaning if look else "critical path"
        width = SAMPLE_WIDTH + 8 + text_width(meaning, 11) + 14
        if x + width > WIDTH - MARGIN:
            x, y = MARGIN, y + LINE_HEIGHT
        parts.append(_sample(x, y - 4, look, used[look]) if look else _outline(x, y - 4))
        parts.append(words(x + SAMPLE_WIDTH + 8, y, meaning))
        x += width
    return together(parts), y


def _sample(x: float, middle: float, look: Look, kind: str) -> Markup:
    """A line or a bar, as in the picture."""
    if kind == "send":
        return tag(
            "path",
            d=f"M{x:.1f} {middle:.1f}h{SAMPLE_WIDTH:.1f}",
            stroke=look.colour,
            stroke_width=2,
            stroke_dasharray=look.dashes,
        )
    height = 12.0 if kind == "compute" else 6.0
    return _box(x, middle, height, fill=look.colour)


def _outline(x: float, middle: float) -> Markup:
    """What the critical path has around its bars."""
    return _box(x, middle, 12.0, fill="none", class_="edge", stroke_width=2.2)


def _box(x: float, middle: float, height: float, **attributes: str | float) -> Markup:
    top = middle - height / 2
    return tag("rect", x=x, y=top, width=SAMPLE_WIDTH, height=height, rx=2, **attributes)
