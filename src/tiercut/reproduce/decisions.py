"""What planners decide over several fleets, and what the paper's own decision would cost there."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from tiercut.plan.plan import Plan
from tiercut.plan.problem import Problem, Wishes
from tiercut.plan.solve import solve
from tiercut.reproduce.paper_figures import Printed
from tiercut.reproduce.results import Cell, Spread

PLANNERS = {"exact": "exact", "paper": "Algorithm 2, repaired"}
"""The solvers compared, and what tables call them."""

CLOSE = 0.5
"""Percent: decisions whose rounds differ by less are called a tie."""


@dataclass(frozen=True)
class Decision:
    """The few numbers of a plan that the paper prints."""

    h: int
    v: int
    aggregators: int
    clients: int

    @property
    def share(self) -> float:
        """Lambda."""
        return self.aggregators / self.clients

    @property
    def per_aggregator(self) -> float:
        """Clients assigned to an aggregator on average, itself not counted."""
        return (self.clients - self.aggregators) / self.aggregators


def decision_of(plan: Plan) -> Decision:
    """What `plan` decided."""
    placement = plan.placement
    h, v = int(placement.aggregator_layers[0]), int(placement.cut_layers[0])
    return Decision(h, v, len(placement.aggregators), len(placement.aggregator_of))


QUANTITIES: dict[str, Callable[[Decision | Printed], float | None]] = {
    "h": lambda decision: decision.h,
    "v": lambda decision: decision.v,
    "lambda": lambda decision: decision.share,
    "clients per aggregator": lambda decision: decision.per_aggregator,
}


def typical_decision(plans: Sequence[Plan]) -> Decision:
    """The decision made most often, the first among equals."""
    return Counter(map(decision_of, plans)).most_common(1)[0][0]


def decision_rows(
    labels: Sequence[Cell], printed: Printed, planned: Sequence[Sequence[Plan]]
) -> list[tuple[Cell, ...]]:
    """A row for every printed quantity: the paper's figure, then each planner's over its fleets."""
    rows: list[tuple[Cell, ...]] = []
    for name, quantity in QUANTITIES.items():
        if quantity(printed) is None:
            continue
        ours = [_spread(plans, quantity) for plans in planned]
        rows.append((*labels, name, quantity(printed), *ours))
    return rows


def _spread(
    plans: Sequence[Plan], quantity: Callable[[Decision | Printed], float | None]
) -> Spread:
    values = [quantity(decision_of(plan)) or 0.0 for plan in plans]
    return Spread.of(values, quantity(typical_decision(plans)))


def increase(seconds: float, reference: float) -> float:
    """Percent by which `seconds` exceeds `reference`."""
    return 100 * (seconds / reference - 1)


def explain(
    label: str, printed: Printed, problems: Sequence[Problem], plans: Sequence[Plan]
) -> str | None:
    """Why the exact `plans` do not decide as printed; nothing where they do."""
    decided = typical_decision(plans)
    differing = [
        name
        for name in ("h", "v", "lambda")
        if QUANTITIES[name](printed) not in (None, QUANTITIES[name](decided))
    ]
    if not differing:
        return None
    pairs = list(zip(problems, plans, strict=True))
    proved = median(increase(_bound_with(p, printed), plan.seconds.round) for p, plan in pairs)
    found = median(increase(_greedy_with(p, printed), plan.seconds.round) for p, plan in pairs)
    return f"{label}: {' and '.join(differing)} differ; {_verdict(printed, proved, found)}"


def _verdict(printed: Printed, proved: float, found: float) -> str:
    layers = f"with the paper's h = {printed.h} and v = {printed.v}"
    share = "" if printed.share is None else f" with its lambda = {printed.share:g}"
    if proved > CLOSE:
        return (
            f"{layers} no plan is less than {proved:.1f} % slower than ours (proved), and greedy"
            f" assignment{share} is {found:.1f} % slower, so its equations do not favour its choice"
        )
    if found <= CLOSE:
        return (
            f"{layers} greedy assignment{share} takes as long as our plan to within {CLOSE:g} %,"
            f" so this is a tie"
        )
    return (
        f"{layers} our bound leaves room for a plan as fast as ours, but greedy assignment{share}"
        f" is {found:.1f} % slower"
    )


def wished_count(share: float, clients: int) -> int:
    """The whole number of aggregators that lambda stands for, rounded up."""
    return math.ceil(share * clients - 1e-9)


def _bound_with(problem: Problem, printed: Printed) -> float:
    """Seconds that no plan with the printed layers can beat, however many aggregators it has.

    A number fixed by `problem` is dropped: fewer wishes can only lower the bound, and keep it tight.
    """
    wishes = Wishes(aggregator_layer=printed.h)
    bound = solve(replace(problem, cuts=(printed.v,), wishes=wishes)).lower_bound
    assert bound is not None
    return bound


def _greedy_with(problem: Problem, printed: Printed) -> float:
    """Seconds of the greedy plan with everything the paper prints, lambda too where it does."""
    count = problem.wishes.aggregators
    if printed.share is not None:
        count = wished_count(printed.share, len(problem.fleet))
    wishes = Wishes(aggregator_layer=printed.h, aggregators=count)
    return solve(
        replace(problem, cuts=(printed.v,), wishes=wishes), "greedy-scan"
    ).seconds.round
