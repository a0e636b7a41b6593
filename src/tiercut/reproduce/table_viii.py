"""Table VIII: how good and how fast Algorithm 2 is, against more thorough searches."""

from __future__ import annotations

from collections.abc import Sequence

from tiercut.plan.plan import Plan
from tiercut.plan.solve import solve
from tiercut.reproduce.decisions import increase
from tiercut.reproduce.paper_figures import TABLE_VIII
from tiercut.reproduce.progress import Watch, unwatched
from tiercut.reproduce.results import Cell, Spread, Table
from tiercut.reproduce.settings import Setting, Settings

SEEDS = tuple(range(3))
"""Three fleets, so that every ratio of times is the median of three."""

COUNTABLE = 6
"""Clients few enough for every plan there is to be tried."""

SEARCHES = ("greedy-scan", "exact")

Case = tuple[str, int]


def make(
    settings: Settings,
    seeds: Sequence[int] = SEEDS,
    watch: Watch = unwatched,
    cases: Sequence[Case] | None = None,
) -> Table:
    """The table, for those of its models that `settings` has, or for some `cases` only."""
    models = dict.fromkeys(model for model, _ in TABLE_VIII if model in settings)
    chosen = cases or [
        *((model, COUNTABLE) for model in models),
        *(case for case in TABLE_VIII if case[0] in settings),
    ]
    rows: list[tuple[Cell, ...]] = []
    differences: list[str] = []
    for case in watch(chosen, "Table VIII"):
        new_rows, sentence = _one_case(settings[case[0]], case, seeds)
        rows += new_rows
        differences += sentence
    return Table(
        title="Table VIII: Algorithm 2 against more thorough searches",
        method=(
            "All cuts are candidates, except for the fleets small enough to try every plan"
            " (`brute`), where they are V*, the cuts that the paper's tables print.",
            "Sub-optimality is that of Algorithm 2, repaired, in percent of the other's seconds per"
            " round; speed-up is the other's time to plan over Algorithm 2's, both from this run.",
            "`greedy-scan` tries all h, v and numbers of aggregators with greedy assignment; the"
            " bound is that of `exact`, which no plan can beat.",
            "Cells show the median over the fleets, and the range.",
        ),
        columns=(
            "model",
            "N",
            "against",
            "sub-optimality (%), paper",
            "ours",
            "speed-up, paper",
            "ours",
        ),
        rows=tuple(rows),
        differences=tuple(differences),
        seeds=tuple(seeds),
    )


def _one_case(
    setting: Setting, case: Case, seeds: Sequence[int]
) -> tuple[list[tuple[Cell, ...]], list[str]]:
    _, clients = case
    small = clients <= COUNTABLE
    varied = setting.with_clients(clients)
    problems = [(varied if small else varied.with_all_cuts()).problem(seed) for seed in seeds]
    searches = (*SEARCHES, "brute") if small else SEARCHES
    plans = {name: [solve(p, name) for p in problems] for name in ("paper", *searches)}
    excess = {name: _excess(plans["paper"], [p.seconds.round for p in plans[name]]) for name in searches}
    excess["exact's bound"] = _excess(plans["paper"], [p.lower_bound or 0.0 for p in plans["exact"]])
    speedup = {name: _speedup(plans["paper"], plans[name]) for name in searches}
    printed = TABLE_VIII.get(case)
    rows: list[tuple[Cell, ...]] = [
        (
            setting.title,
            clients,
            name,
            printed and printed.suboptimality,
            excess[name],
            printed and printed.speedup if name in speedup else None,
            speedup.get(name),
        )
        for name in excess
    ]
    if printed is None:
        return rows, []
    return rows, [
        f"{setting.title}, N = {clients}: Algorithm 2 is at most {excess["exact's bound"].high:.1f} %"
        f" from the best there is, where the paper prints {printed.suboptimality:g} %, and against"
        f" the greedy scan {speedup['greedy-scan'].typical:.1f} times as fast, where it prints"
        f" {printed.speedup:g}: its \"exhaustive search\" is not described, and cannot have tried"
        f" every plan."
    ]


def _excess(plans: Sequence[Plan], references: Sequence[float]) -> Spread:
    pairs = zip(plans, references, strict=True)
    return Spread.of([increase(plan.seconds.round, seconds) for plan, seconds in pairs])


def _speedup(plans: Sequence[Plan], others: Sequence[Plan]) -> Spread:
    pairs = zip(plans, others, strict=True)
    return Spread.of([other.wall_seconds / plan.wall_seconds for plan, other in pairs])
