"""What is compared, and the setting of every run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from tiercut.compare.fixed import AS_AA, Fixed
from tiercut.compare.override import Overrides, apply_overrides
from tiercut.data import Load, load
from tiercut.errors import InputError
from tiercut.measure.results import run_path
from tiercut.plan.plan import PlanFile
from tiercut.scenario import Scenario
from tiercut.schemes import Scheme, find_scheme
from tiercut.train.folder import RunFolder
from tiercut.train.overrides import override
from tiercut.train.planner import FIXED
from tiercut.train.setting import Setting, build_setting, find_method

USUAL_SCHEMES = ("sfl", "multihop", "locsfl", "dtfl", "aa-hsfl-ll")
"""HSFL-ll is left out: it does not choose its layers itself."""
AA = "aa-hsfl-ll"


@dataclass(frozen=True)
class Job:
    """One run: a scheme from a seed."""

    scheme: str
    seed: int
    rounds: int
    label: str = ""
    """Of which comparison it is, where there are several."""

    def __str__(self) -> str:
        run = f"{self.scheme}, seed {self.seed}"
        return f"{run}, {self.label}" if self.label else run


@dataclass(frozen=True, eq=False)
class Comparison:
    """Schemes and seeds over one scenario; runs of one seed start from the same data and weights.

    A user's own schemes are given as package.module:SCHEME, and known by their names from then on.
    """

    scenario: Scenario
    specs: tuple[str, ...]
    """The schemes as they were written."""
    seeds: tuple[int, ...]
    overrides: Overrides = field(default_factory=dict)
    """By the scheme's name."""
    fixed: str | None = None
    """For HSFL-ll: "3,8,20%", or "aa"."""
    data_dir: Path | None = None
    until: float | None = None
    """The accuracy with which a run is over before it has all its rounds."""
    label: str = ""
    """What tells its runs from those of another comparison that is trained beside it."""

    def __post_init__(self) -> None:
        """Refuse what can be seen to be wrong without any data."""
        _refuse_twice("scheme", [find_scheme(spec).name for spec in self.specs])
        _refuse_twice("seed", list(map(str, self.seeds)))
        for name in self.schemes:
            if not re.fullmatch(r"\w[\w.-]*", name):
                raise InputError(
                    f"the scheme's name {name!r} is no name for a folder; use letters, digits,"
                    f" '-', '_' and '.'"
                )
            if self.fixed is None and self._is_fixed(name, self.scenario_of(name)):
                raise InputError(
                    f"{name} does not choose its layers and aggregators itself; give h, v and"
                    f" lambda like --hsfl-ll 3,8,20%, or take those that AA HSFL-ll chooses with"
                    f" --hsfl-ll {AS_AA}"
                )

    @cached_property
    def schemes(self) -> dict[str, Scheme]:
        """The schemes by name, in their order."""
        return {scheme.name: scheme for scheme in map(find_scheme, self.specs)}

    @property
    def jobs(self) -> list[Job]:
        """Every run, seed by seed, so that there is early something of every scheme to see."""
        rounds = {name: self.scenario_of(name).training.rounds for name in self.schemes}
        return [
            Job(name, seed, rounds[name], self.label)
            for seed in self.seeds
            for name in self.schemes
        ]

    def scenario_of(self, scheme: str, seed: int | None = None) -> Scenario:
        """What the runs of a scheme are told, from any seed or from a certain one."""
        own = apply_overrides(self.scenario, self.overrides.get(scheme, {}), scheme)
        return override(own, seed=seed)

    def setting(self, job: Job, load: Load = load) -> Setting:
        """What a run starts from."""
        scenario = self.scenario_of(job.scheme, job.seed)
        is_fixed = self._is_fixed(job.scheme, scenario)
        plan = self._fixed_plan(scenario, load) if is_fixed else None
        return self._build(scenario, self._spec(job.scheme), load, plan)

    def _build(
        self, scenario: Scenario, spec: str, load: Load, plan: PlanFile | None = None
    ) -> Setting:
        return build_setting(scenario, scheme=spec, plan=plan, data_dir=self.data_dir, load=load)

    def _fixed_plan(self, scenario: Scenario, load: Load) -> PlanFile:
        """HSFL-ll's groups with the layers and the share that it is given."""
        assert self.fixed is not None
        terms = self._build(scenario, AA, load)
        if self.fixed != AS_AA:
            chosen = Fixed.given(self.fixed, terms.fleet)
        else:
            theirs = self._build(self.scenario_of(AA, scenario.seed), AA, load)
            chosen = Fixed.of(theirs.planner.first(theirs.fleet))
        return chosen.plan(terms.planner, terms.fleet)

    def _spec(self, name: str) -> str:
        return dict(zip(self.schemes, self.specs, strict=True))[name]

    def _is_fixed(self, name: str, scenario: Scenario) -> bool:
        """Whether a scheme has to be given its layers."""
        return find_method(scenario, self._spec(name))[1] == FIXED


def _refuse_twice(what: str, names: Sequence[str]) -> None:
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InputError(f"two of the {what}s are {twice[0]!r}; name every {what} once")


def job_folder(results: Path, job: Job) -> RunFolder:
    """Where a run goes."""
    return RunFolder(run_path(results, job.scheme, job.seed))
