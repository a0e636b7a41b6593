"""A tiny builder for SVG text, and the looks that all drawings share.

`tag` makes an element. Its children are escaped unless they are `Markup`, which only this module
makes, so a client called `<script>` stays a name. Colours that must follow the reader's light or
dark theme are classes of the stylesheet; the others are `PALETTE`, safe for colour-blind readers
and legible on both themes.
"""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate
from string import Template
from typing import Final

PALETTE: Final = {
    "sky": "#56b4e9",
    "blue": "#0072b2",
    "orange": "#e69f00",
    "vermillion": "#d55e00",
    "green": "#009e73",
    "purple": "#cc79a7",
    "yellow": "#f0e442",
    "grey": "#8a939c",
}
"""The colours of Okabe and Ito, and a grey."""

_UNPRINTABLE: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")

_LIGHT: Final = {
    "paper": "#ffffff",
    "band": "#f2f5f8",
    "rule": "#d3d9e0",
    "muted": "#5a6470",
    "ink": "#15191e",
}
_DARK: Final = {
    "paper": "#14171b",
    "band": "#1e2329",
    "rule": "#3b434d",
    "muted": "#a4adb8",
    "ink": "#eef1f4",
}
_THEMED: Final = Template(
    ".tiercut text,.tiercut .ink{fill:$ink}"
    ".tiercut .paper{fill:$paper}.tiercut .band{fill:$band}.tiercut .muted{fill:$muted}"
    ".tiercut .halo{stroke:$band;stroke-width:3px;stroke-linejoin:round;paint-order:stroke}"
    ".tiercut .rule{stroke:$rule}.tiercut .edge{stroke:$ink}.tiercut .seam{stroke:$paper}"
)

STYLE: Final = (
    ".tiercut{font-family:system-ui,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}"
    + _THEMED.substitute(_LIGHT)
    + "@media (prefers-color-scheme:dark){"
    + _THEMED.substitute(_DARK)
    + "}"
    # After the themes, because it must win over both: text that stands on a coloured shape.
    + ".tiercut .on-light{fill:#15191e}.tiercut .on-dark{fill:#ffffff}"
)


class Markup(str):
    """Text that is SVG already."""

    __slots__ = ()


def printable(text: str) -> str:
    """`text` without the characters that break XML or a terminal."""
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def tag(name: str, *children: str, **attributes: str | float | None) -> Markup:
    """An element; `class_` is written class, `font_size` font-size, and None leaves one out."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    inside = "".join(child if isinstance(child, Markup) else _escape(child) for child in children)
    return Markup(f"<{name}{written}>{inside}</{name}>" if inside else f"<{name}{written}/>")


def together(parts: Iterable[Markup]) -> Markup:
    """Several elements, one after another."""
    return Markup("".join(parts))


def document(width: float, height: float, *content: Markup, label: str) -> str:
    """A whole picture; `label` is what a screen reader says of it."""
    size = f"0 0 {_value(width)} {_value(height)}"
    return tag(
        "svg",
        tag("style", Markup(STYLE)),
        tag("rect", class_="paper", width=width, height=height),
        *content,
        xmlns="http://www.w3.org/2000/svg",
        class_="tiercut",
        viewBox=size,
        width=width,
        height=height,
        role="img",
        aria_label=label,
    )


def words(
    x: float,
    y: float,
    text: str,
    *,
    size: float = 11,
    look: str | None = None,
    anchor: str | None = None,
    weight: int | None = None,
) -> Markup:
    """A line of text whose baseline is at y."""
    return tag(
        "text",
        text,
        x=x,
        y=y,
        font_size=size,
        font_weight=weight,
        text_anchor=anchor,
        class_=look,
    )


BOLD = 1.15
"""How much wider than other text bold text is."""


def text_width(text: str, size: float) -> float:
    """About how wide a line of text will be; fonts differ, so this errs on the wide side."""
    return size * sum(_character_width(character) for character in text)


def fit(text: str, width: float, size: float) -> str:
    """`text`, cut short with an ellipsis to stay within `width`; nothing if that leaves nothing."""
    text = printable(text)
    ends = list(accumulate(size * _character_width(character) for character in text))
    if not ends or ends[-1] <= width:
        return text
    kept = bisect_right(ends, width - size)
    return f"{text[:kept].rstrip()}\N{HORIZONTAL ELLIPSIS}" if kept > 1 else ""


def _character_width(character: str) -> float:
    """Relative to the font's size."""
    if unicodedata.east_asian_width(character) in "WF":
        return 1.0
    if character in " .,:;'|!()-fijlrtI":
        return 0.38
    if character in "MWmw@%":
        return 1.0
    return 0.75 if character.isupper() else 0.62


def _value(value: str | float) -> str:
    if isinstance(value, str):
        return _escape(value)
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _escape(text: str) -> str:
    return html.escape(printable(text))
