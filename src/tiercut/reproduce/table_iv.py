"""Table IV: the layers and the share of aggregators chosen for each model."""

from __future__ import annotations

from collections.abc import Sequence

from tiercut.plan.solve import solve
from tiercut.reproduce.decisions import METHOD, PLANNERS, decision_rows, explain
from tiercut.reproduce.paper_figures import TABLE_IV, Printed
from tiercut.reproduce.progress import Watch, unwatched
from tiercut.reproduce.results import Cell, Table
from tiercut.reproduce.settings import Setting, Settings

SEEDS = tuple(range(5))


def make(settings: Settings, seeds: Sequence[int] = SEEDS, watch: Watch = unwatched) -> Table:
    """The table, for those of its models that `settings` has."""
    rows: list[tuple[Cell, ...]] = []
    differences: list[str] = []
    for model in watch([model for model in TABLE_IV if model in settings], "Table IV"):
        new_rows, sentences = _one_model(settings[model], TABLE_IV[model], seeds)
        rows += new_rows
        differences += sentences
    return Table(
        title="Table IV: decisions for the four models",
        method=(
            *METHOD,
            "The last two columns open every cut.",
            "Clients per aggregator is (N - K)/K: an aggregator does not count itself.",
        ),
        columns=(
            "model",
            "quantity",
            "paper",
            *(f"{title}, V*" for title in PLANNERS.values()),
            *(f"{title}, all cuts" for title in PLANNERS.values()),
        ),
        rows=tuple(rows),
        differences=tuple(differences),
        seeds=tuple(seeds),
    )


def _one_model(
    setting: Setting, printed: Printed, seeds: Sequence[int]
) -> tuple[list[tuple[Cell, ...]], list[str]]:
    problems = [
        [variant.problem(seed) for seed in seeds] for variant in (setting, setting.with_all_cuts())
    ]
    planned = [
        [solve(problem, solver) for problem in fleets] for fleets in problems for solver in PLANNERS
    ]
    why = explain(f"{setting.title}, V*", printed, problems[0], planned[0])
    sentences = [why, _contradiction(setting.title, printed)]
    rows = decision_rows((setting.title,), printed, planned)
    return rows, [sentence for sentence in sentences if sentence is not None]


def _contradiction(title: str, printed: Printed) -> str | None:
    """Where the paper's lambda and its clients per aggregator exclude each other."""
    assert printed.share is not None
    follows = (1 - printed.share) / printed.share
    if round(follows, 2) == printed.per_aggregator:
        return None
    return (
        f"{title}, clients per aggregator: the paper's own lambda = {printed.share:g} leaves"
        f" {follows:.3g} for each aggregator, not the {printed.per_aggregator:g} that it prints."
    )
