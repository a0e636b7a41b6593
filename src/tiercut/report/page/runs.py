"""What the runs' folders hold beside the summary: manifests, scenarios and plans.

A page can do without any of it. What is missing or damaged is left out, and a note says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tiercut.cost import SCHEMES, Placement, SchemeCost
from tiercut.documents import check, check_version, read_json, show_value
from tiercut.errors import InputError, TiercutError
from tiercut.plan.plan import PlanFile
from tiercut.report.summary import Summary
from tiercut.scenario import Scenario

T = TypeVar("T")


class PlanRecord(PlanFile):
    """A run's plan with its prices: here they are what was measured with, and stay so."""

    seconds: dict[str, float]
    bytes: dict[str, float]
    solver: str = ""

    @property
    def cost_facts(self) -> SchemeCost:
        """What the scheme costs; of a user's own one, what can be told from the plan."""
        if self.scheme in SCHEMES:
            return SCHEMES[self.scheme]
        return SchemeCost(
            self.scheme,
            self.scheme,
            local_loss=self.bytes.get("gradients_from_server", 0.0) == 0.0,
            three_tiers=self.aggregator_layer is not None,
            cut_per_client=self.cut_layers is not None,
        )

    def decided(self, source: str) -> Placement:
        """The decision; that of a user's own scheme as one with as many tiers."""
        known = "dtfl" if self.aggregator_layer is None else "aa-hsfl-ll"
        own = self.scheme not in SCHEMES
        return (self.model_copy(update={"scheme": known}) if own else self).placement(source)


@dataclass(frozen=True, eq=False)
class Run:
    """One training of a scheme from one seed, as its folder tells it."""

    scheme: str
    seed: int
    rounds: int
    folder: Path
    manifest: Mapping[str, Any] | None
    scenario: Scenario | None
    plan: PlanRecord | None

    @property
    def plan_source(self) -> str:
        """What error messages call its plan."""
        return str(self.folder / "plan.json")


def run_folder(results: Path, scheme: str, seed: int) -> Path:
    """Where the run of a scheme from a seed is; in a run's own folder, that one."""
    if (results / "rounds.jsonl").exists():
        return results
    return results / scheme / f"seed-{seed}"


def read_runs(results: Path, summary: Summary, notes: list[str]) -> list[Run]:
    """The runs that a summary speaks of; what cannot be read is in `notes`."""
    runs = []
    for name, scheme in summary.schemes.items():
        if Path(name).name != name:
            notes.append(f"{show_value(name)} is no name of a folder, so its runs were not read.")
            continue
        for seed, rounds in zip(scheme.seeds, scheme.rounds_done, strict=False):
            runs.append(read_run(name, seed, rounds, run_folder(results, name, seed), notes))
    return runs


def read_run(scheme: str, seed: int, rounds: int, folder: Path, notes: list[str]) -> Run:
    """A run of so many `rounds`; what cannot be read of it is in `notes`."""
    if rounds == 0:
        return Run(scheme, seed, rounds, folder, None, None, None)
    manifest = tried(lambda: _read_manifest(folder / "manifest.json"), notes)
    scenario = None
    if manifest is not None:
        source = str(folder / "manifest.json")
        scenario = tried(lambda: check(Scenario, manifest.get("scenario"), source), notes)
    plan = tried(lambda: _read_plan(folder / "plan.json"), notes)
    return Run(scheme, seed, rounds, folder, manifest, scenario, plan)


def _read_manifest(path: Path) -> Mapping[str, Any]:
    data = read_json(path)
    check_version(data, str(path), "manifest")
    return dict(data)


def _read_plan(path: Path) -> PlanRecord:
    data = read_json(path)
    check_version(data, str(path), "plan")
    plan = check(PlanRecord, data, str(path))
    if plan.clients is None:
        raise InputError(f"{path}: clients is missing, so nobody knows whom the plan is for")
    return plan


def tried(make: Callable[[], T], notes: list[str]) -> T | None:
    """What `make` gives, or None and a note that says why there is none."""
    try:
        return make()
    except TiercutError as problem:
        notes.append(str(problem).splitlines()[0])
        return None
