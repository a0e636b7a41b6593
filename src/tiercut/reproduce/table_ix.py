"""Table IX: keeping the plan or planning anew when devices or links become slower."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from tiercut.plan.plan import price
from tiercut.plan.problem import Problem
from tiercut.plan.solve import solve
from tiercut.reproduce.decisions import PLANNERS, increase
from tiercut.reproduce.paper_figures import TABLE_IX, PrintedIncrease
from tiercut.reproduce.progress import Watch, unwatched
from tiercut.reproduce.results import Cell, Spread, Table
from tiercut.reproduce.settings import Setting, Settings
from tiercut.seeds import Seeds
from tiercut.units import RATE, parse

SEEDS = tuple(range(5))

SLOW_RATES = tuple(parse(rate, RATE) for rate in ("2 Mbps", "4 Mbps"))
"""The paper says "below 4 Mbps"; where they begin is our choice."""


def _tasks(share: float) -> Callable[[Setting, int], Problem]:
    """Other tasks take `share` of the throughput of a random half of the clients."""

    def change(setting: Setting, seed: int) -> Problem:
        problem = setting.problem(seed)
        busy = Seeds(seed).stream("busy clients").permutation(setting.clients)
        throughput = problem.fleet.throughput.copy()
        throughput[busy[: setting.clients // 2]] *= 1 - share
        return replace(problem, fleet=replace(problem.fleet, throughput=throughput))

    return change


def _slow_links(setting: Setting, seed: int) -> Problem:
    return setting.with_fleet(rates=SLOW_RATES).problem(seed)


CHANGES: dict[str, Callable[[Setting, int], Problem]] = {
    "extra 15 % tasks": _tasks(0.15),
    "extra 30 % tasks": _tasks(0.30),
    "reduced rate": _slow_links,
}


def make(settings: Settings, seeds: Sequence[int] = SEEDS, watch: Watch = unwatched) -> Table:
    """The table, for those of its models that `settings` has."""
    rows: list[tuple[Cell, ...]] = []
    differences: list[str] = []
    cases = [case for case in TABLE_IX if case[0] in settings]
    for model, change in watch(cases, "Table IX"):
        new_rows, sentence = _one_case(settings[model], change, TABLE_IX[model, change], seeds)
        rows += new_rows
        differences.append(sentence)
    return Table(
        title="Table IX: keeping the plan or planning anew after a change",
        method=(
            "V* is the set of cuts that the paper's tables print for the model.",
            "Extra tasks of x % take x % of the throughput of half of the clients, drawn by the"
            " seed: the paper does not say whose; strong and weak clients are equally likely.",
            "The reduced rate redraws all links between 2 and 4 Mbps: the paper says below 4 Mbps.",
            "Figures are the increase of the round's seconds over the undisturbed plan of the same"
            " planner, in percent: the median over the fleets, and the range.",
            "The least possible increase is that of the bound that `exact` proves for the changed"
            " fleet.",
        ),
        columns=("change", "model", "solution", "paper", *PLANNERS.values(), "least possible"),
        rows=tuple(rows),
        differences=tuple(differences),
        seeds=tuple(seeds),
    )


def _one_case(
    setting: Setting, change: str, printed: PrintedIncrease, seeds: Sequence[int]
) -> tuple[list[tuple[Cell, ...]], str]:
    before = [setting.problem(seed) for seed in seeds]
    after = [CHANGES[change](setting, seed) for seed in seeds]
    pairs = list(zip(before, after, strict=True))
    increases = np.array([[_increases(*pair, solver) for pair in pairs] for solver in PLANNERS])
    kept, new, least = ([Spread.of(fleets) for fleets in increases[..., i]] for i in range(3))
    rows: list[tuple[Cell, ...]] = [
        (change, setting.title, "fixed", printed.fixed, *kept, None),
        (change, setting.title, "new", printed.new, *new, least[0]),
    ]
    return rows, _explain(f"{setting.title}, {change}", printed, new[0], least[0])
