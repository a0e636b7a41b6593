"""Three units inside the program: bytes, seconds, FLOP. This is the one place that knows any other.

`parse("20 Mbps", RATE)` gives bytes per second; plain numbers pass through as already being in the
program's own unit. The `show_*` functions write the same quantities for people.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final

from tiercut.errors import InputError, nearest

_DECIMAL: Final = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_BINARY: Final = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
_NUMBER_AND_UNIT: Final = re.compile(r"\s*([-+]?[\d_.]+(?:[eE][-+]?\d+)?)\s*([^\d\s].*?)?\s*")

FLOP_PER_CYCLE: Final = 2.0
"""One multiply-add a cycle: how a clock rate in Hz becomes a throughput in FLOP/s."""


@dataclass(frozen=True)
class Dimension:
    """A kind of quantity: its name, the program's own unit, and every unit that may be written."""

    name: str
    unit: str
    factors: dict[str, float]
    example: str


def _with_prefixes(suffix: str, scale: float, prefixes: dict[str, float]) -> dict[str, float]:
    return {prefix + suffix: factor * scale for prefix, factor in prefixes.items()}


SIZE: Final = Dimension(
    "size",
    "bytes",
    {**_with_prefixes("B", 1.0, _DECIMAL), **_with_prefixes("B", 1.0, _BINARY), "bytes": 1.0},
    "2 GiB",
)
RATE: Final = Dimension(
    "rate",
    "bytes/s",
    {
        **_with_prefixes("bps", 1 / 8, _DECIMAL),
        **_with_prefixes("bit/s", 1 / 8, _DECIMAL),
        **_with_prefixes("B/s", 1.0, _DECIMAL),
        **_with_prefixes("B/s", 1.0, _BINARY),
        "bytes/s": 1.0,
    },
    "20 Mbps",
)


def throughput_at(flop_per_cycle: float) -> Dimension:
    """Throughputs for devices that do `flop_per_cycle` FLOP each clock cycle."""
    return Dimension(
        "throughput",
        "FLOP/s",
        {
            **_with_prefixes("FLOP/s", 1.0, _DECIMAL),
            **_with_prefixes("FLOPS", 1.0, _DECIMAL),
            **_with_prefixes("Hz", flop_per_cycle, _DECIMAL),
        },
        "17.6 GHz",
    )


THROUGHPUT: Final = throughput_at(FLOP_PER_CYCLE)
TIME: Final = Dimension("time", "seconds", {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}, "90 s")
FRACTION: Final = Dimension("fraction", "", {"%": 0.01}, "1%")


def parse(value: float | str, dimension: Dimension) -> float:
    """`value` in the program's own unit of `dimension`; raises InputError on anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise InputError(f"{value!r} is no {dimension.name}; write {dimension.example!r}")
    try:
        number = float(value) if isinstance(value, int | float) else _parse_text(value, dimension)
    except OverflowError:  # a whole number with more than 308 digits
        number = math.inf
    if not math.isfinite(number):
        raise InputError(f"{value!r} is no finite {dimension.name}; write {dimension.example!r}")
    return number


def _parse_text(text: str, dimension: Dimension) -> float:
    match = _NUMBER_AND_UNIT.fullmatch(text)
    try:
        number = float(match[1]) if match else math.nan
    except ValueError:
        match = None
    if match is None:
        raise InputError(f"{text!r} is no {dimension.name}; write {dimension.example!r}")
    unit = match[2]
    if unit is None:
        return number
    if unit not in dimension.factors:
        hint = nearest(unit, dimension.factors)
        raise InputError(
            f"{text!r} has the unknown unit {unit!r}{hint}; a {dimension.name} is written like"
            f" {dimension.example!r}"
        )
    return number * dimension.factors[unit]


def _scaled(value: float, suffix: str) -> str:
    """`value` with the largest decimal prefix that leaves at least one digit before the point."""
    for prefix in ("P", "T", "G", "M", "k"):
        if abs(value) >= _DECIMAL[prefix] * 0.99995:
            return f"{value / _DECIMAL[prefix]:.4g} {prefix}{suffix}"
    return f"{value:.4g} {suffix}"


def show_size(size: float) -> str:
    """Bytes for a person: 1.25 MB."""
    return _scaled(size, "B")


def show_rate(rate: float) -> str:
    """Bytes per second for a person, as network people say it: 20 Mbps."""
    return _scaled(rate * 8, "bps")


def show_throughput(throughput: float) -> str:
    """FLOP/s for a person: 35.2 GFLOP/s."""
    return _scaled(throughput, "FLOP/s")


def show_flops(flops: float) -> str:
    """An amount of work for a person: 57.8 MFLOP."""
    return _scaled(flops, "FLOP")


def show_time(seconds: float) -> str:
    """Seconds for a person: 850 ms, 12.3 s, 4 min 10 s, 3 h 05 min."""
    if seconds < 0.9995:
        return f"{seconds * 1e3:.3g} ms"
    if seconds < 120:
        return f"{seconds:.4g} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 120:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"
