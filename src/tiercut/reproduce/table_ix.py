"""Table IX: keeping the plan or planning anew when devices or links become slower."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

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


@dataclass(frozen=True)
class _Change:
    """What happens to a setting's fleet, and why a plan that is kept slows down then."""

    apply: Callable[[Setting, int], Problem]
    reason: str


def _tasks(share: float) -> _Change:
    """Other tasks take `share` of the throughput of a random half of the clients."""

    def apply(setting: Setting, seed: int) -> Problem:
        problem = setting.problem(seed)
        busy = Seeds(seed).stream("busy clients").permutation(setting.clients)
        throughput = problem.fleet.throughput.copy()
        throughput[busy[: setting.clients // 2]] *= 1 - share
        return replace(problem, fleet=replace(problem.fleet, throughput=throughput))

    return _Change(
        apply,
        f"a busy client computes {100 * share / (1 - share):.0f} % longer, and with half of them"
        f" busy some client that holds the old plan back usually is",
    )


def _slow_links(setting: Setting, seed: int) -> Problem:
    return setting.with_fleet(rates=SLOW_RATES).problem(seed)


CHANGES = {
    "extra 15 % tasks": _tasks(0.15),
    "extra 30 % tasks": _tasks(0.30),
    "reduced rate": _Change(
        _slow_links, "transfers take several times as long, and the plan was made for fast links"
    ),
}


def make(settings: Settings, seeds: Sequence[int] = SEEDS, watch: Watch = unwatched) -> Table:
    """The table, for those of its models that `settings` has."""
    rows: list[tuple[Cell, ...]] = []
    differences: list[str] = []
    cases = [case for case in TABLE_IX if case[0] in settings]
    for model, change in watch(cases, "Table IX"):
        new_rows, sentences = _one_case(settings[model], change, TABLE_IX[model, change], seeds)
        rows += new_rows
        differences += sentences
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


@dataclass(frozen=True)
class _Aftermath:
    """Percent by which a round is slower after a change."""

    fixed: float
    new: float
    least: float
    """No plan can do better; 0 where the planner proves nothing."""


def _one_case(
    setting: Setting, change: str, printed: PrintedIncrease, seeds: Sequence[int]
) -> tuple[list[tuple[Cell, ...]], list[str]]:
    pairs = [(setting.problem(seed), CHANGES[change].apply(setting, seed)) for seed in seeds]
    ours = [[_aftermath(*pair, solver) for pair in pairs] for solver in PLANNERS]
    fixed = [Spread.of([fleet.fixed for fleet in fleets]) for fleets in ours]
    new = [Spread.of([fleet.new for fleet in fleets]) for fleets in ours]
    least = Spread.of([fleet.least for fleet in ours[0]])
    rows: list[tuple[Cell, ...]] = [
        (change, setting.title, "fixed", printed.fixed, *fixed, None),
        (change, setting.title, "new", printed.new, *new, least),
    ]
    label = f"{setting.title}, {change}"
    return rows, [
        f"{label}, fixed: {CHANGES[change].reason}, so it slows down by"
        f" {fixed[0].typical:.1f} %, where the paper prints {printed.fixed:g} %.",
        f"{label}, new: {_verdict(printed, least)}.",
    ]


def _aftermath(before: Problem, after: Problem, solver: str) -> _Aftermath:
    old, new = solve(before, solver), solve(after, solver)
    usual = old.seconds.round
    return _Aftermath(
        increase(price(after, old.placement, solver=solver).seconds.round, usual),
        increase(new.seconds.round, usual),
        increase(new.lower_bound or usual, usual),
    )


def _verdict(printed: PrintedIncrease, least: Spread) -> str:
    if printed.new < least.low:
        return (
            f"on every fleet even the best plan is at least {least.low:.1f} % slower (proved), so"
            f" the paper's +{printed.new:g} % does not follow from its equations with the change as"
            f" made here"
        )
    return (
        f"the least possible increase lies between {least.low:.1f} % and {least.high:.1f} %,"
        f" depending on the fleet, so the paper's +{printed.new:g} % is possible, but cannot be"
        f" checked without its fleet"
    )
