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

METHOD = (
    "V* is the set of cuts that the paper's tables print for the model.",
    "Cells show the decision made on most fleets (for seconds: the median), and the range.",
    "Algorithm 2, repaired, takes the fastest greedy plan that its bisection on h comes across, so"
    " it need not decide as `exact` does; the seconds per round say what that costs.",
    "The paper's absolute seconds are no target, and are left out.",
)
"""What holds for every table of decisions."""

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
    """A row for every printed quantity, the paper's figure first, and a row of seconds."""
    rows: list[tuple[Cell, ...]] = []
    for name, quantity in QUANTITIES.items():
        if quantity(printed) is None:
            continue
        ours = [_spread(plans, quantity) for plans in planned]
        rows.append((*labels, name, quantity(printed), *ours))
    seconds = [Spread.of([plan.seconds.round for plan in plans]) for plans in planned]
    return [*rows, (*labels, "seconds per round", None, *seconds)]


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
    differing = _differing(printed, decided)
    if not differing:
        return None
    pairs = list(zip(problems, plans, strict=True))
    proved = median(increase(_bound_with(p, printed), plan.seconds.round) for p, plan in pairs)
    found = median(increase(_greedy_with(p, printed), plan.seconds.round) for p, plan in pairs)
    verb = "differs" if len(differing) == 1 else "differ"
    alone = ", every client serving itself as in LocSFL, so that h decides nothing"
    return (
        f"{label}: {', '.join(differing)} {verb}{alone if decided.share == 1 else ''};"
        f" {_verdict(printed, proved, found)}."
    )


def _differing(printed: Printed, decided: Decision) -> list[str]:
    """The names of the quantities that are not as printed."""
    same = {"h": printed.h == decided.h, "v": printed.v == decided.v}
    if printed.share is not None:
        same["lambda"] = wished_count(printed.share, decided.clients) == decided.aggregators
    return [name for name, equal in same.items() if not equal]


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
        f"{layers} our bound does not exclude a plan as fast as ours, but greedy assignment{share}"
        f" is {found:.1f} % slower"
    )


def wished_count(share: float, clients: int) -> int:
    """The whole number of aggregators that lambda stands for, rounded up."""
    return math.ceil(share * clients - 1e-9)


def _bound_with(problem: Problem, printed: Printed) -> float:
    """Seconds that no plan with the printed layers can beat.

    A bound for any number of aggregators also holds where `problem` fixes their number, and is
    found sooner; which of the two bounds is the better one differs.
    """
    layers = Wishes(aggregator_layer=printed.h)
    choices = {layers, replace(layers, aggregators=problem.wishes.aggregators)}
    restricted = [replace(problem, cuts=(printed.v,), wishes=wishes) for wishes in choices]
    return max(solve(one).lower_bound or 0.0 for one in restricted)


def _greedy_with(problem: Problem, printed: Printed) -> float:
    """Seconds of the greedy plan with everything the paper prints, lambda too where it does."""
    count = problem.wishes.aggregators
    if printed.share is not None:
        count = wished_count(printed.share, len(problem.fleet))
    wishes = Wishes(aggregator_layer=printed.h, aggregators=count)
    return solve(replace(problem, cuts=(printed.v,), wishes=wishes), "greedy-scan").seconds.round
