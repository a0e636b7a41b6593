"""A figure or a table that needs training, as a value: who is compared, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tiercut.errors import InputError
from tiercut.measure.manifest import Own
from tiercut.measure.results import Results
from tiercut.report.curves import Axis
from tiercut.reproduce import contenders
from tiercut.scenario import Scenario, read_scenario
from tiercut.schemes import find_scheme


@dataclass(frozen=True)
class Contender:
    """A scheme in a study, and what differs for it alone."""

    spec: str
    """As `tiercut compare` takes it."""
    own: Mapping[str, Any] = field(default_factory=dict)
    """Keys of the scenario, such as plan.cuts."""
    share: float | None = None
    """Lambda, where it is given instead of planned."""
    best: bool = False
    """Whether it trains and plans as the study's best scenario says."""

    @property
    def name(self) -> str:
        """What it is called in files."""
        return find_scheme(self.spec).name


def variant(constant: str, **options: Any) -> Contender:
    """A contender out of contenders.py."""
    return Contender(f"{contenders.__name__}:{constant}", **options)


@dataclass(frozen=True)
class Study:
    """What is trained for a figure or a table of the paper."""

    title: str
    file: str
    """Its scenario."""
    model: str
    contenders: tuple[Contender, ...]
    judge: Callable[[Results, str], list[str]]
    """How results differ from what the paper says of a model, a sentence each."""
    targets: tuple[float, ...] = ()
    """Accuracies to look at."""
    seeds: int = 1
    method: tuple[str, ...] = ()
    fixed: str | None = None
    """h, v and lambda of HSFL-ll."""
    best: str | None = None
    """The scenario that contenders at their best follow."""
    tuning: str | None = None
    """Where, beside the study, `tiercut tune` found what contenders have of their own."""
    axes: tuple[Axis, ...] = ("seconds", "bytes")
    """What accuracy is drawn against."""

    @property
    def shares(self) -> dict[str, float]:
        """Lambda by contender, where it is given."""
        return {one.name: one.share for one in self.contenders if one.share is not None}

    def overrides(
        self, scenarios: Path, tuned: Mapping[str, Own] | None = None
    ) -> dict[str, dict[str, Any]]:
        """What differs for a contender alone, by name; `tuned` is what was found for some."""
        own = {
            one.name: {
                **(self._best_keys(scenarios) if one.best else {}),
                **(tuned or {}).get(one.name, {}),
                **one.own,
            }
            for one in self.contenders
        }
        return {name: keys for name, keys in own.items() if keys}

    def _best_keys(self, scenarios: Path) -> dict[str, Any]:
        assert self.best is not None
        return differing(read_study(scenarios, self.file), read_study(scenarios, self.best))


def read_study(scenarios: Path, file: str) -> Scenario:
    """The scenario of a study."""
    path = scenarios / f"{file}.toml"
    if not path.exists():
        raise InputError(
            f"{path}: there is no such file, and the paper's figures are made from it; run this in"
            f" a checkout of tiercut, or say where its scenarios are with --scenarios DIR"
        )
    return read_scenario(path)


def differing(usual: Scenario, other: Scenario) -> dict[str, Any]:
    """The keys of training and planning that another scenario has otherwise."""
    sections = {"training": (usual.training, other.training), "plan": (usual.plan, other.plan)}
    return {
        f"{section}.{key}": value
        for section, (was, now) in sections.items()
        for key, value in now
        if value != getattr(was, key)
    }
