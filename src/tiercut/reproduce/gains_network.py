"""The gains in time as a real network would have them, from the same runs.

The paper's equations end every batch with everybody waiting for the server. Where there is a local
loss nobody has to, and where there is none clients do not wait for each other; the cost model
`network` has both. It changes what a round takes, and not what is learned in it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tiercut.cost import round_seconds
from tiercut.errors import InputError
from tiercut.fleet import Fleet, build_fleet
from tiercut.measure.results import Contender, Results, Run, run_path
from tiercut.report.page.runs import read_run
from tiercut.report.page.scene import build_scene, build_work
from tiercut.reproduce import gains
from tiercut.reproduce.results import Table
from tiercut.reproduce.trained import RESULTS, read_runs
from tiercut.scenario import CostModel, Scenario
from tiercut.seeds import Seeds

NAME = "gains-network"
CLOCK: CostModel = "network"
METHOD = (
    f"As the table of gains, with every round's seconds by the cost model `{CLOCK}`: what a real"
    " run takes, in which nobody waits for the server who has a local loss.",
    "The plans are those of the runs, which were made for the paper's equations: planned for this"
    " clock everybody would take less time, and some rivals may save more by it than ours.",
    *gains.METHOD,
)


def make(output: Path) -> Table:
    """The table, for those of the figures whose runs are in `output`."""
    title = "Gains in time on a real network: as published, and with every rival at its best"
    return gains.tabulate(output, read_repriced, title, METHOD, ("delay",))


def read_repriced(folder: Path) -> Results | None:
    """The runs in the folder of a figure, their seconds as a real network would have them."""
    results = read_runs(folder)
    if results is None:
        return None
    contenders = tuple(_repriced(one, folder / RESULTS) for one in results.contenders)
    return replace(results, contenders=contenders)


def _repriced(contender: Contender, results: Path) -> Contender:
    runs = tuple(
        _on_the_clock(run, _round_seconds(contender.name, run, results)) if run.points else run
        for run in contender.runs
    )
    return replace(contender, runs=runs)


def _on_the_clock(run: Run, seconds: float) -> Run:
    points = (point.model_copy(update={"seconds": seconds * point.round}) for point in run.points)
    return replace(run, points=tuple(points))


def _round_seconds(scheme: str, run: Run, results: Path) -> float:
    """What a round of a run's plan takes; its fleet is built again, and held against the record."""
    notes: list[str] = []
    folder = run_path(results, scheme, run.seed)
    record = read_run(scheme, run.seed, len(run.points), folder, notes)
    if notes:
        raise InputError(notes[0])
    scene = build_scene(record, _fleet_of)
    work = build_work(scene, record)
    return round_seconds(scene.fleet, work, scene.placement, scene.scheme, CLOCK).round


def _fleet_of(scenario: Scenario, _: int) -> Fleet:
    """The fleet of a scenario, to which nothing happens in the paper's figures."""
    return build_fleet(scenario.fleet, Seeds(scenario.seed))
