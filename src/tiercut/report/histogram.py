"""How large the groups of a large fleet are: a bar per group size, or per range of sizes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from tiercut.cost.placement import Ints, Placement
from tiercut.fleet import Fleet
from tiercut.report.svg import BOLD, PALETTE, Markup, document, fit, tag, words
from tiercut.units import show_throughput

WIDTH, HEIGHT = 800.0, 430.0
LEFT, RIGHT, TOP, BOTTOM = 30.0, 30.0, 132.0, 362.0
MOST_BARS = 20
WIDEST_BAR = 60.0
LEAST_HEIGHT = 1.5
"""A bar lower than this, in pixels, could not be seen."""


def draw_sizes(placement: Placement, fleet: Fleet, *, title: str, caption: str) -> str:
    """An SVG picture with a bar for each size of group."""
    sizes = placement.hosted[placement.aggregators]
    edges = size_ranges(int(sizes.min()), int(sizes.max()))
    counts, _ = np.histogram(sizes, edges)
    return document(
        WIDTH,
        HEIGHT,
        words(LEFT, 32, fit(title, WIDTH - 2 * LEFT, 17 * BOLD), size=17, weight=600),
        words(LEFT, 54, fit(caption, WIDTH - 2 * LEFT, 12), size=12, look="muted"),
        words(LEFT, 74, _speeds(placement, fleet), size=12, look="muted"),
        words(LEFT, TOP - 26, "number of aggregators"),
        *_bars(edges, counts),
        tag("line", class_="rule", x1=LEFT, y1=BOTTOM, x2=WIDTH - RIGHT, y2=BOTTOM),
        words(WIDTH / 2, HEIGHT - 16, "models that each of them hosts", anchor="middle"),
        label=title,
    )


def size_ranges(low: int, high: int) -> list[int]:
    """The edges of ranges that hold low..high, each range from one edge up to before the next.

    Every size has its own range if there are few; else ranges are of equal width where sizes are
    alike, and double from one to the next where they are not.
    """
    if high < MOST_BARS * max(low, 1):
        width = -(-(high - low + 1) // MOST_BARS)
        return [*range(low, high + 1, width), high + 1]
    edges = [low]
    while edges[-1] <= high:
        edges.append(2 * edges[-1])
    return [*edges[:-1], high + 1]


def _bars(edges: list[int], counts: Ints) -> Iterator[Markup]:
    room = (WIDTH - LEFT - RIGHT) / len(counts)
    width = min(WIDEST_BAR, 0.8 * room)
    for i, (count, (first, end)) in enumerate(zip(counts.tolist(), pairwise(edges), strict=True)):
        middle = LEFT + (i + 0.5) * room
        height = max(LEAST_HEIGHT, (BOTTOM - TOP) * count / counts.max()) if count else 0.0
        sizes = [_short(first)] if end == first + 1 else [_short(first), f"to {_short(end - 1)}"]
        bar = tag(
            "rect",
            x=middle - width / 2,
            y=BOTTOM - height,
            width=width,
            height=height,
            fill=PALETTE["blue"],
        )
        yield tag("g", tag("title", f"{count:,} host {' '.join(sizes)}"), bar)
        yield words(middle, BOTTOM - height - 5, _short(count), size=10, anchor="middle")
        for line, text in enumerate(sizes):
            yield words(middle, BOTTOM + 15 + 12 * line, text, size=10, anchor="middle")


def _short(count: int) -> str:
    """A count in at most five characters."""
    for unit, size in (("M", 10**6), ("k", 10**3)):
        if count >= 10 * size:
            return f"{count // size}{unit}"
    return str(count)


def _speeds(placement: Placement, fleet: Fleet) -> str:
    """How fast those that serve and those that are served are."""
    serving = fleet.throughput[placement.is_aggregator]
    served = fleet.throughput[~placement.is_aggregator]
    says = f"median throughput: {show_throughput(float(np.median(serving)))} of aggregators"
    if len(served):
        says += f", {show_throughput(float(np.median(served)))} of the others"
    return says
