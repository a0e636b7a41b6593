"""Table VII: the decision as strong clients grow faster than weak ones."""

from __future__ import annotations

from collections.abc import Sequence

from tiercut.plan.solve import solve
from tiercut.reproduce.decisions import METHOD, PLANNERS, decision_rows, explain
from tiercut.reproduce.paper_figures import TABLE_IV, TABLE_VII
from tiercut.reproduce.progress import Watch, unwatched
from tiercut.reproduce.results import Cell, Table
from tiercut.reproduce.settings import TITLES, Settings

SEEDS = tuple(range(5))

USUAL = 7.5
"""The gamma that the paper calls its usual one, and so that of its Table IV."""


def make(settings: Settings, seeds: Sequence[int] = SEEDS, watch: Watch = unwatched) -> Table:
    """The table, for those of its models that `settings` has."""
    rows: list[tuple[Cell, ...]] = []
    differences: list[str] = []
    cases = [case for case in TABLE_VII if case[0] in settings]
    for model, gamma in watch(cases, "Table VII"):
        setting, printed = settings[model].with_fleet(gamma=gamma), TABLE_VII[model, gamma]
        problems = [setting.problem(seed) for seed in seeds]
        planned = [[solve(problem, solver) for problem in problems] for solver in PLANNERS]
        rows += decision_rows((setting.title, gamma), printed, planned)
        why = explain(f"{setting.title}, gamma = {gamma:g}", printed, problems, planned[0])
        sentences = [why, _contradiction(model, gamma)]
        differences += [sentence for sentence in sentences if sentence is not None]
    return Table(
        title="Table VII: decisions as clients differ more",
        method=(
            *METHOD,
            "Weak clients keep their throughput; strong ones have gamma times as much.",
        ),
        columns=("model", "gamma", "quantity", "paper", *PLANNERS.values()),
        rows=tuple(rows),
        differences=tuple(differences),
        seeds=tuple(seeds),
    )


def _contradiction(model: str, gamma: float) -> str | None:
    """Where the paper prints two decisions for one setting."""
    here, there = TABLE_VII[model, gamma], TABLE_IV[model]
    if gamma != USUAL or (here.h, here.v, here.share) == (there.h, there.v, there.share):
        return None
    return (
        f"{TITLES[model]}, gamma = {gamma:g}: the paper's Table IV prints h = {there.h} for this"
        f" setting, and its Table VII h = {here.h}."
    )
