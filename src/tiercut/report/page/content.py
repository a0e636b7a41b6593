"""Everything a page shows, as values: read once, so that building the page cannot fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tiercut.documents import read_json
from tiercut.report.page.batch import draw_batch
from tiercut.report.page.findings import Finding, cautions, find
from tiercut.report.page.graph import MOST_CLIENTS, draw_graph
from tiercut.report.page.real import RealRounds, read_real
from tiercut.report.page.runs import Run, read_runs, tried
from tiercut.report.page.scene import FleetAfter, Scene, build_scene, build_work
from tiercut.report.summary import Summary
from tiercut.report.traffic import Traffic, mean_traffic
from tiercut.report.wording import listed
from tiercut.scenario import Scenario

SpreadOf = Callable[[Scenario], dict[str, Any]]
"""Who has what, as report.spread draws it; raises where that cannot be told."""
MOST_COLUMNS = 200
"""Clients whose data is shown; more could not be told apart."""


@dataclass(frozen=True, eq=False)
class Content:
    """A comparison with everything that could be found out about it."""

    summary: Summary
    manifest: Mapping[str, Any] | None
    runs: Sequence[Run]
    findings: Sequence[Finding]
    cautions: Sequence[str]
    graphs: Mapping[str, dict[str, Any]]
    batches: Mapping[str, dict[str, Any]]
    traffic: Sequence[Traffic]
    spread: dict[str, Any] | None
    real: RealRounds | None
    """Of the first run with rounds on real devices."""
    seed: int | None
    """The one whose fleet, plans and data are shown; every seed has its own."""
    notes: Sequence[str]
    """What could not be shown, and why."""


def gather(folder: Path, summary: Summary, fleet_after: FleetAfter, spread_of: SpreadOf) -> Content:
    """The content of a page about the comparison or the run in `folder`."""
    notes: list[str] = []
    manifest = tried(lambda: read_json(folder / "manifest.json"), notes)
    runs = read_runs(folder, summary, notes)
    shown = _first_of_each(runs)
    graphs: dict[str, dict[str, Any]] = {}
    batches: dict[str, dict[str, Any]] = {}
    for run in shown:
        scene = tried(lambda run=run: build_scene(run, fleet_after), notes)  # type: ignore[misc]
        if scene is not None:
            _draw(run, scene, graphs, batches, notes)
    scenario = next((run.scenario for run in shown if run.scenario is not None), None)
    spread = None
    if scenario is not None:
        spread = tried(lambda: _shortened(spread_of(scenario), notes), notes)
    return Content(
        summary=summary,
        manifest=manifest if isinstance(manifest, dict) else None,
        runs=runs,
        findings=find(summary),
        cautions=[*cautions(summary), *_not_begun(manifest, summary)],
        graphs=graphs,
        batches=batches,
        traffic=_traffic(runs),
        spread=spread,
        real=_real(shown, notes),
        seed=shown[0].seed if shown else None,
        notes=list(dict.fromkeys(notes)),
    )


def _not_begun(manifest: Any, summary: Summary) -> list[str]:
    """Schemes that were to be compared, and of which no round is there."""
    wanted = manifest.get("schemes") if isinstance(manifest, dict) else None
    missing = [str(name) for name in wanted or () if name not in summary.schemes]
    return [f"Not a round is there of {listed(missing)}."] if missing else []


def _first_of_each(runs: Sequence[Run]) -> list[Run]:
    """A run of each scheme, all from the seed that most of them have: one fleet for all."""
    begun = [run for run in runs if run.plan is not None]
    seeds = [run.seed for run in begun]
    common = max(dict.fromkeys(seeds), key=seeds.count, default=None)
    return [run for run in begun if run.seed == common]


def _draw(
    run: Run,
    scene: Scene,
    graphs: dict[str, dict[str, Any]],
    batches: dict[str, dict[str, Any]],
    notes: list[str],
) -> None:
    if len(scene.fleet) <= MOST_CLIENTS:
        graphs[run.scheme] = draw_graph(scene)
    else:
        notes.append(
            f"A fleet of {len(scene.fleet):,} clients is too large to draw; `tiercut plan"
            f" --picture` shows how large its groups are."
        )
    batch = tried(lambda: draw_batch(scene, build_work(scene, run)), notes)
    if batch is not None:
        batches[run.scheme] = batch


def _traffic(runs: Sequence[Run]) -> list[Traffic]:
    """One entry per scheme of which a plan is there: means over those plans."""
    plans: dict[str, list[Mapping[str, float]]] = {}
    for run in runs:
        if run.plan is not None:
            plans.setdefault(run.scheme, []).append(run.plan.bytes)
    return [mean_traffic(scheme, found) for scheme, found in plans.items()]


def _real(runs: Sequence[Run], notes: list[str]) -> RealRounds | None:
    found = (tried(partial(read_real, run.folder / "rounds.jsonl"), notes) for run in runs)
    return next((real for real in found if real is not None), None)


def _shortened(spread: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    clients = spread["clients"]
    if len(clients) > MOST_COLUMNS:
        notes.append(f"The data of the first {MOST_COLUMNS} of {len(clients):,} clients is shown.")
    return {**spread, "clients": clients[:MOST_COLUMNS]}
