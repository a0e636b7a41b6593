"""A scenario with other values than its file has: what options on the command line do."""

from __future__ import annotations

from typing import Any, TypeVar

from tiercut.documents import Document, check
from tiercut.scenario import Scenario

S = TypeVar("S", bound=Document)

SOURCE = "the command line"


def override(
    scenario: Scenario,
    *,
    seed: int | None = None,
    training: dict[str, Any] | None = None,
    engine: dict[str, Any] | None = None,
) -> Scenario:
    """The scenario with those values that are given and not None, checked as a file's are."""
    changes = {
        "training": _changed(scenario.training, training or {}),
        "engine": _changed(scenario.engine, engine or {}),
    }
    changed = scenario.model_copy(update=changes)
    return changed if seed is None else _changed(changed, {"seed": seed})


def _changed(section: S, changes: dict[str, Any]) -> S:
    given = {key: value for key, value in changes.items() if value is not None}
    if not given:
        return section
    return check(type(section), {**dict(section), **given}, SOURCE)
