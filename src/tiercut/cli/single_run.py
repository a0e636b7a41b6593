"""A single run of `tiercut train`, read as a comparison of one scheme from one seed."""

from __future__ import annotations

from pathlib import Path

from pydantic import ConfigDict, Field

from tiercut.cost import SCHEMES
from tiercut.documents import Document, check, check_version, read_json
from tiercut.measure.decision import read_decision
from tiercut.measure.manifest import Manifest
from tiercut.measure.points import read_points
from tiercut.measure.results import Contender, Results, Run
from tiercut.scenario import Scenario


class _RunManifest(Document):
    """What is needed of a run's manifest.json."""

    model_config = ConfigDict(extra="ignore")

    tiercut: str
    torch: str
    python: str
    device: str
    command: tuple[str, ...] = Field(strict=False)
    scenario: Scenario
    scheme: str
    seed: int


def read_single(folder: Path) -> Results:
    """The run in `folder`, as far as it got."""
    path = folder / "manifest.json"
    data = read_json(path)
    check_version(data, str(path), "manifest")
    run = check(_RunManifest, data, str(path))
    points = read_points(folder / "rounds.jsonl")
    plan = folder / "plan.json"
    decision = read_decision(plan) if points else None
    title = SCHEMES[run.scheme].title if run.scheme in SCHEMES else run.scheme
    manifest = Manifest(
        **run.model_dump(include={"tiercut", "torch", "python", "device", "command"}),
        scenario=run.scenario,
        schemes=(run.scheme,),
        titles={run.scheme: title},
        seeds=(run.seed,),
        clients=_clients(plan) if points else run.scenario.fleet.clients,
    )
    rounds = run.scenario.training.rounds
    alone = Contender(run.scheme, title, rounds, (Run(run.seed, points, decision),))
    return Results(manifest, (alone,))


class _Clients(Document):
    """Whom a plan is for."""

    model_config = ConfigDict(extra="ignore")

    aggregator_of: tuple[int, ...] = Field(strict=False, min_length=1)


def _clients(plan: Path) -> int:
    """How many the plan is for; a fleet that lies in a file is not counted in the scenario."""
    return len(check(_Clients, read_json(plan), str(plan)).aggregator_of)
