"""Table VIII: how good and how fast Algorithm 2 is, against more thorough searches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tiercut.plan.plan import Plan
from tiercut.plan.solve import solve
from tiercut.reproduce.decisions import increase
from tiercut.reproduce.paper_figures import TABLE_VIII, PrintedSearch
from tiercut.reproduce.progress import Watch, unwatched
from tiercut.reproduce.results import Cell, Spread, Table
from tiercut.reproduce.settings import Setting, Settings

SEEDS = tuple(range(3))
"""Three fleets, so that every ratio of times is the median of three."""

COUNTABLE = 6
"""Clients few enough for every plan there is to be tried."""

SEARCHES = ("greedy-scan", "exact")

BOUND = "exact's bound"

Case = tuple[str, int]
"""A model and a number of clients."""


@dataclass(frozen=True)
class _Comparison:
    """Algorithm 2 against another search: percent above its seconds, and how much faster."""

    excess: Spread
    speedup: Spread | None


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
            "sub-optimality (%), ours",
            "speed-up, paper",
            "speed-up, ours",
        ),
        rows=tuple(rows),
        differences=tuple(differences),
        seeds=tuple(seeds),
    )


def _one_case(
    setting: Setting, case: Case, seeds: Sequence[int]
) -> tuple[list[tuple[Cell, ...]], list[str]]:
    _, clients = case
    compared = _compare(_plan(setting.with_clients(clients), seeds))
    printed = TABLE_VIII.get(case)
    label: tuple[Cell, ...] = (setting.title, clients)
    if printed is None:
        rows = [
            (*label, name, None, one.excess, None, one.speedup) for name, one in compared.items()
        ]
        return rows, []
    rows = [
        (
            *label,
            name,
            printed.suboptimality,
            one.excess,
            None if one.speedup is None else printed.speedup,
            one.speedup,
        )
        for name, one in compared.items()
    ]
    return rows, [f"{setting.title}, N = {clients}: {_verdict(printed, compared)}"]


def _plan(setting: Setting, seeds: Sequence[int]) -> dict[str, list[Plan]]:
    """What Algorithm 2 and every search that the number of clients allows plan for each fleet."""
    countable = setting.clients <= COUNTABLE
    solvers = ("paper", *SEARCHES, *(("brute",) if countable else ()))
    chosen = setting if countable else setting.with_all_cuts()
    problems = [chosen.problem(seed) for seed in seeds]
    return {solver: [solve(problem, solver) for problem in problems] for solver in solvers}


def _compare(plans: dict[str, list[Plan]]) -> dict[str, _Comparison]:
    """Algorithm 2 against everything else in `plans`, and against the bound."""
    ours = plans["paper"]
    compared = {
        name: _Comparison(_excess(ours, [p.seconds.round for p in others]), _speedup(ours, others))
        for name, others in plans.items()
        if others is not ours
    }
    bounds = [plan.lower_bound or 0.0 for plan in plans["exact"]]
    return {**compared, BOUND: _Comparison(_excess(ours, bounds), None)}


def _verdict(printed: PrintedSearch, compared: dict[str, _Comparison]) -> str:
    most = compared[BOUND].excess.high
    scan, exact = compared["greedy-scan"].speedup, compared["exact"].speedup
    assert scan is not None
    assert exact is not None
    return (
        f"Algorithm 2 is at most {most:.1f} % above the best there is, where the paper prints"
        f" {printed.suboptimality:g} %, and {scan.typical:.1f} times as fast as the greedy scan,"
        f' where it prints {printed.speedup:g} against an "exhaustive search" that it does not'
        f" describe and that cannot have tried every plan; `exact` takes {exact.typical:.2g} times"
        f" as long to plan as Algorithm 2."
    )


def _excess(plans: Sequence[Plan], references: Sequence[float]) -> Spread:
    pairs = zip(plans, references, strict=True)
    return Spread.of([increase(plan.seconds.round, seconds) for plan, seconds in pairs])


def _speedup(plans: Sequence[Plan], others: Sequence[Plan]) -> Spread:
    pairs = zip(plans, others, strict=True)
    return Spread.of([other.wall_seconds / plan.wall_seconds for plan, other in pairs])
