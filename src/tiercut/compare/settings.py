"""Settings to try: every combination of some keys' values, for all schemes or for one."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tiercut.compare.override import read_own
from tiercut.errors import InputError
from tiercut.measure.manifest import Own
from tiercut.measure.tuning import Settings

EXAMPLE = "'plan.cuts=[[3],[5]]' or 'sfl:training.rate=[1e-4,1e-3]'"

BUDGET = "training.rounds"

Values = Mapping[str, Sequence[Any]]
"""What is tried of each key, such as training.rate."""


def parse_tries(texts: Iterable[str], schemes: Iterable[str]) -> dict[str, Values]:
    """What to try with each scheme; what names a scheme counts for it in place of the others'."""
    known = tuple(schemes)
    general: dict[str, Sequence[Any]] = {}
    own: dict[str, dict[str, Sequence[Any]]] = {name: {} for name in known}
    for text in texts:
        said = read_own("--try", text, known, EXAMPLE)
        if not isinstance(said.value, list) or not said.value:
            raise InputError(f"--try {text!r} is no list of values to try; write it like {EXAMPLE}")
        if said.key == BUDGET:
            raise InputError(
                f"--try {text!r}: rounds are the budget, which is the same for all; give --rounds"
            )
        target = general if said.scheme is None else own[said.scheme]
        target[said.key] = said.value
    return {name: {**general, **own[name]} for name in known}


def combinations(values: Values) -> Settings:
    """Every choice of one value for each key."""
    found: dict[str, Own] = {}
    for choice in itertools.product(*values.values()):
        setting = dict(zip(values, choice, strict=True))
        label = label_of(setting)
        if label in found:
            raise InputError(f"{label} is to be tried twice; name every value once")
        found[label] = setting
    return found


def label_of(setting: Own) -> str:
    """A name for people and for a folder: "cuts-3,rate-0.001"."""
    return ",".join(f"{key.partition('.')[2]}-{_plain(value)}" for key, value in setting.items())


def _plain(value: Any) -> str:
    return re.sub(r"[^\w.+-]+", "-", str(value)).strip("-")
