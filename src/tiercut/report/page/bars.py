"""Bytes of a round as bars, as wide as their shares of the longest: no script has to draw them."""

from __future__ import annotations

from collections.abc import Sequence

from tiercut.report.page.html import Html, element, together
from tiercut.report.summary import Summary
from tiercut.report.traffic import BESIDE, KINDS, Traffic
from tiercut.units import show_size


def traffic_bars(summary: Summary, traffic: Sequence[Traffic]) -> Html:
    """A stacked bar per scheme, and what its colours mean."""
    most = max(one.total for one in traffic) or 1.0
    used = [kind for kind in KINDS if any(one.parts[kind] > 0 for one in traffic)]
    samples = (
        element("li", element("i", class_=f"swatch kind-{kind}"), KINDS[kind][0]) for kind in used
    )
    rows = (
        element(
            "div",
            element("div", summary.title(one.scheme), class_="bar-name"),
            _bar(summary.title(one.scheme), one, most),
            element("div", show_size(one.total), class_="bar-total"),
            class_="bar-row",
        )
        for one in traffic
    )
    return together(
        [element("ul", *samples, class_="legend"), element("div", *rows, class_="bars")]
    )


def _bar(title: str, one: Traffic, most: float) -> Html:
    pieces, start = [], 0.0
    sent = {kind: size for kind, size in one.parts.items() if size > 0}
    for kind, size in sent.items():
        share = f"{show_size(size)}, {size / one.total:.0%} of the round"
        pieces.append(
            element(
                "rect",
                x=f"{100 * start / most:.3f}%",
                width=f"{100 * size / most:.3f}%",
                height="100%",
                class_=f"kind-{kind}",
                data_tip=f"{title}\n{KINDS[kind][0]}\n{share}",
            )
        )
        start += size
    says = ", ".join(f"{KINDS[kind][0]} {show_size(size)}" for kind, size in sent.items())
    return element("svg", *pieces, class_="bar", role="img", aria_label=f"{title}: {says}")


def beside_sentence(traffic: Sequence[Traffic]) -> str:
    """What is sent as well and not counted; the paper leaves it out too."""
    largest = {key: max(one.beside[key] for one in traffic) for key in BESIDE}
    parts = [f"{BESIDE[key]} (at most {show_size(size)})" for key, size in largest.items() if size]
    return f"Not counted, as in the paper: {' and '.join(parts)}." if parts else ""
