"""A key of the scenario that differs for one scheme alone, as tuned rivals need it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from tiercut.documents import check
from tiercut.errors import InputError, nearest
from tiercut.scenario import Scenario

SECTIONS = ("training", "plan", "model")
"""What a scheme may have of its own; fleet, data and events are the same for all."""
EXAMPLE = "sfl:training.rate=3e-4"

Overrides = Mapping[str, Mapping[str, Any]]
"""By scheme and key, such as training.rate."""


def parse_overrides(texts: Iterable[str], schemes: Iterable[str]) -> Overrides:
    """What texts such as "sfl:training.rate=3e-4" say."""
    known = tuple(schemes)
    found: dict[str, dict[str, Any]] = {}
    for text in texts:
        target, equals, value = text.partition("=")
        scheme, colon, key = target.rpartition(":")
        section, dot, name = key.partition(".")
        if not (equals and colon and dot and name):
            raise InputError(f"--override {text!r} is not understood; write it like {EXAMPLE}")
        if scheme not in known:
            raise InputError(
                f"--override {text!r} is for {scheme!r}, which is not compared"
                f"{nearest(scheme, known)}; expected one of {', '.join(known)}"
            )
        if section not in SECTIONS:
            raise InputError(
                f"--override {text!r}: [{section}] is the same for all schemes; expected a key of"
                f" {', '.join(SECTIONS)}"
            )
        found.setdefault(scheme, {})[key] = _parse(value)
    return found


def _parse(text: str) -> Any:
    """A value as a scenario has it; a word needs no quotes."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def apply_overrides(scenario: Scenario, own: Mapping[str, Any], scheme: str) -> Scenario:
    """The scenario with a scheme's own keys in it, checked as a file's are."""
    if not own:
        return scenario
    values = scenario.model_dump()
    for key, value in own.items():
        section, _, name = key.partition(".")
        values[section][name] = value
    return check(Scenario, values, f"--override of {scheme}")
