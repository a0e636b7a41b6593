"""Table V: the layers chosen when the share of aggregators is fixed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tiercut.plan.problem import Wishes
from tiercut.plan.solve import solve
from tiercut.reproduce.decisions import (
    METHOD,
    PLANNERS,
    decision_rows,
    explain,
    wished_count,
)
from tiercut.reproduce.paper_figures import TABLE_V
from tiercut.reproduce.progress import Watch, unwatched
from tiercut.reproduce.results import Cell, Spread, Table
from tiercut.reproduce.settings import Settings

SEEDS = tuple(range(5))


def make(settings: Settings, seeds: Sequence[int] = SEEDS, watch: Watch = unwatched) -> Table:
    """The table, for those of its models that `settings` has."""
    rows: list[tuple[Cell, ...]] = []
    differences: list[str] = []
    cases = [case for case in TABLE_V if case[0] in settings]
    for model, share in watch(cases, "Table V"):
        setting, printed = settings[model], TABLE_V[model, share]
        wishes = Wishes(aggregators=wished_count(share, setting.clients))
        problems = [replace(setting.problem(seed), wishes=wishes) for seed in seeds]
        exact, paper = ([solve(problem, solver) for problem in problems] for solver in PLANNERS)
        labels = (setting.title, share)
        rows += decision_rows(labels, printed, (exact, paper))
        gaps = [100 * (plan.gap or 0.0) for plan in exact]
        rows.append((*labels, "gap left (%)", None, Spread.of(gaps), None))
        why = explain(f"{setting.title}, lambda = {share:g}", printed, problems, exact)
        differences += [] if why is None else [why]
    return Table(
        title="Table V: layers for a fixed share of aggregators",
        method=(
            *METHOD,
            "ceil(lambda N) clients aggregate.",
            "With a fixed number `exact` may stop early; the gap it leaves to its bound is shown.",
        ),
        columns=("model", "lambda", "quantity", "paper", *PLANNERS.values()),
        rows=tuple(rows),
        differences=tuple(differences),
        seeds=tuple(seeds),
    )
