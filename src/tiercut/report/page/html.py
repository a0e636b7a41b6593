"""A tiny builder for HTML text. Children are escaped unless they are `Html`, made only here."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from typing import Any

from tiercut.report.svg import printable


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def element(name: str, *children: str, **attributes: str | int | float | bool | None) -> Html:
    """An element; `class_` is written class, `aria_label` aria-label; None and False leave out."""
    written = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{escape(value)}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    return Html(f"<{name}{written}>{together(children)}</{name}>")


def together(parts: Iterable[str]) -> Html:
    """Several pieces, one after another; what is not HTML yet is escaped."""
    return Html("".join(part if isinstance(part, Html) else escape(part) for part in parts))


def escape(value: str | int | float) -> str:
    """Text that no browser takes for anything but text, inside elements and attributes."""
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    lines = str(value).split("\n")
    return "\n".join(html.escape(printable(line)) for line in lines)


def as_data(value: Any) -> Html:
    """JSON for a script element: there only `<` could end it, and none is left."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return Html(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))
