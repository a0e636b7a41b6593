"""Keys of the scenario that differ for one scheme alone, as tuned rivals need them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tiercut.documents import check
from tiercut.errors import InputError, nearest
from tiercut.measure.manifest import Own
from tiercut.scenario import Scenario

SECTIONS = ("training", "plan", "model")
"""What a scheme may have of its own; fleet, data and events are the same for all."""
EXAMPLE = "sfl:training.rate=3e-4"

Overrides = Mapping[str, Own]
"""By scheme."""


@dataclass(frozen=True)
class Said:
    """A text like "sfl:training.rate=3e-4", read."""

    scheme: str | None
    """None where it names none."""
    key: str
    value: Any


def read_own(option: str, text: str, schemes: Iterable[str], example: str) -> Said:
    """What a text that was given with `option` says of a key, of one scheme or of all."""
    known = tuple(schemes)
    target, equals, value = text.partition("=")
    scheme, colon, key = target.rpartition(":")
    section, dot, name = key.partition(".")
    if not (equals and dot and name):
        raise InputError(f"{option} {text!r} is not understood; write it like {example}")
    if colon and scheme not in known:
        raise InputError(
            f"{option} {text!r} is for {scheme!r}, which is not compared"
            f"{nearest(scheme, known)}; expected one of {', '.join(known)}"
        )
    if section not in SECTIONS:
        raise InputError(
            f"{option} {text!r}: [{section}] is the same for all schemes; expected a key of"
            f" {', '.join(SECTIONS)}"
        )
    return Said(scheme if colon else None, key, _parse(value))


def parse_overrides(texts: Iterable[str], schemes: Iterable[str]) -> Overrides:
    """What texts such as "sfl:training.rate=3e-4" say."""
    known = tuple(schemes)
    found: dict[str, dict[str, Any]] = {}
    for text in texts:
        said = read_own("--override", text, known, EXAMPLE)
        if said.scheme is None:
            raise InputError(f"--override {text!r} is not understood; write it like {EXAMPLE}")
        found.setdefault(said.scheme, {})[said.key] = said.value
    return found


def _parse(text: str) -> Any:
    """A value as a scenario has it; a word needs no quotes."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def apply_overrides(scenario: Scenario, own: Own, scheme: str) -> Scenario:
    """The scenario with a scheme's own keys in it, checked as a file's are."""
    if not own:
        return scenario
    source, values = f"what {scheme} has of its own", scenario.model_dump()
    for key, value in own.items():
        section, _, name = key.partition(".")
        if not isinstance(values.get(section), dict):
            raise InputError(f"{source}: unknown key {key}; write it like training.rate")
        values[section][name] = value
    return check(Scenario, values, source)
