"""Which of several settings suits each scheme best: what tuning came to, and tuning.json."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from pydantic import ConfigDict

from tiercut.documents import Document, check, check_version, read_json
from tiercut.errors import InputError
from tiercut.measure.manifest import Own
from tiercut.measure.results import Contender, read_results
from tiercut.measure.targets import find_reach
from tiercut.plan.goal.objective import Kind

FILE = "tuning.json"
VERSION = 2

Settings = Mapping[str, Own]
"""What a scheme has of its own in each setting, by a label that is a folder's name."""


@dataclass(frozen=True)
class Aim:
    """What the best setting is best at: accuracy in the end, or the least on the way to one."""

    kind: Kind | None = None
    target: float | None = None

    def cost(self, tried: Tried) -> float:
        """What is to be as low as can be; infinite where a run did not get there."""
        if self.kind is None:
            cost = None if tried.accuracy is None else -tried.accuracy
        else:
            cost = tried.seconds if self.kind == "time-to-accuracy" else tried.bytes
        return math.inf if cost is None else cost


@dataclass(frozen=True)
class Tried:
    """What a scheme came to in one setting; None where a run did not get to its end."""

    own: Own
    accuracy: float | None
    seconds: float | None = None
    """On the way to the target; None where there is none or a run did not reach it."""
    bytes: float | None = None


@dataclass(frozen=True)
class Found:
    """What a scheme came to in each setting."""

    title: str
    tried: Mapping[str, Tried]
    aim: Aim = Aim()

    @property
    def best(self) -> str | None:
        """The label of the best setting, the first of equals; None where none got there."""
        label = min(self.tried, key=lambda label: self.aim.cost(self.tried[label]))
        return None if math.isinf(self.aim.cost(self.tried[label])) else label

    @property
    def own(self) -> Own:
        """The best setting."""
        assert self.best is not None
        return self.tried[self.best].own

    @property
    def at_the_edge(self) -> Iterator[str]:
        """The keys whose best value is the least or the greatest tried, so that more may help.

        Nothing is below zero in a scenario.
        """
        for key, value in self.own.items():
            tried = [each.own[key] for each in self.tried.values()]
            numbers = set(filter(_is_number, tried)) if _is_number(value) else set()
            if len(numbers) > 1 and value in (min(numbers), max(numbers)) and value != 0:
                yield key


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def read_tuning(folder: Path, settings: Mapping[str, Settings], aim: Aim) -> dict[str, Found]:
    """What the comparisons in a folder came to, by scheme."""
    labels = {label for own in settings.values() for label in own}
    at = {label: read_results(folder / label) for label in labels}
    ends = {(one.name, label): one for label, results in at.items() for one in results.contenders}
    return {
        name: Found(
            ends[name, next(iter(own))].title,
            {label: _tried(keys, ends[name, label], aim) for label, keys in own.items()},
            aim,
        )
        for name, own in settings.items()
    }


def _tried(own: Own, one: Contender, aim: Aim) -> Tried:
    if not one.is_complete:
        return Tried(own, None)
    accuracy = fmean(run.points[-1].accuracy for run in one.runs)
    if aim.target is None:
        return Tried(own, accuracy)
    reach = find_reach(one, aim.target)
    if not reach.by_all or reach.seconds is None or reach.bytes is None:
        return Tried(own, accuracy)
    return Tried(own, accuracy, reach.seconds.mean, reach.bytes.mean)


def to_document(found: Mapping[str, Found], aim: Aim, command: Sequence[str]) -> dict[str, Any]:
    """tuning.json; every setting's folder has the rest."""
    return {
        "version": VERSION,
        "command": list(command),
        "objective": aim.kind,
        "target": aim.target,
        "schemes": {
            name: {
                "tried": {label: asdict(tried) for label, tried in one.tried.items()},
                "best": one.best,
            }
            for name, one in found.items()
        },
    }


class _Best(Document):
    """What of tuning.json says how a scheme is to be trained."""

    model_config = ConfigDict(extra="ignore")

    tried: dict[str, dict[str, Any]]
    best: str | None


class _File(Document):
    model_config = ConfigDict(extra="ignore")

    schemes: dict[str, _Best]


def read_best(folder: Path) -> dict[str, Own]:
    """The best setting of every scheme, as tuning.json in a folder says."""
    path = folder / FILE
    data = read_json(path)
    check_version(data, str(path), "tuning file", VERSION)
    return {
        name: _own(one, f"{path}: {name}")
        for name, one in check(_File, data, str(path)).schemes.items()
    }


def _own(one: _Best, source: str) -> Own:
    own = one.tried.get(one.best or "", {}).get("own")
    if not isinstance(own, dict):
        raise InputError(f"{source} has no best setting; tune again, with other values to try")
    return own
