"""Numbers in words, for sentences and tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tiercut.report.summary import Cost, Spread

NOUNS: Mapping[Cost, str] = {"seconds": "time", "bytes": "bytes"}
"""What a cost is called when it is saved."""
SAME = 0.005
"""A difference below half a percent is called none."""


def percent(share: float, digits: int = 0) -> str:
    """A share for a person: 75%; a target such as 0.755 keeps its half percent."""
    if digits == 0 and abs(100 * share - round(100 * share)) > 1e-6:
        digits = 1
    return f"{100 * share:.{digits}f}%"


def count(number: int, noun: str) -> str:
    """A number of things: 1 seed, 3 seeds."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def listed(words: Sequence[str]) -> str:
    """Several things in a row: a, b and c."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def differs(gain: float) -> bool:
    """Whether a gain is large enough to be called one."""
    return abs(gain) >= SAME


def saved(gain: float, noun: str) -> str:
    """A gain in words: 21% less time, 5% more bytes, about as much time."""
    if not differs(gain):
        return f"about {'as many' if noun == 'bytes' else 'as much'} {noun}"
    less = "fewer" if noun == "bytes" else "less"
    return f"{abs(gain):.0%} {less if gain > 0 else 'more'} {noun}"


def spread(values: Spread, show: Callable[[float], str]) -> str:
    """The range over seeds: 94.0% to 96.1%, 3.1 to 3.4 s; nothing where it has no width."""
    low, high = show(values.low), show(values.high)
    if low == high:
        return ""
    ends = [end.split(" ") for end in (low, high)]
    one_unit = all(len(end) == 2 for end in ends) and ends[0][1] == ends[1][1]
    return f"{ends[0][0] if one_unit else low} to {high}"


def unbroken(text: str, names: Sequence[str], most: int = 24) -> str:
    """`text` in which no line breaks inside one of the names, if they are short."""
    for name in names:
        if len(name) <= most:
            whole = name.replace("-", "\N{NON-BREAKING HYPHEN}").replace(" ", "\N{NO-BREAK SPACE}")
            text = text.replace(name, whole)
    return text
