"""The one call behind which all solvers stand."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import cast

from tiercut.cost import scheme_named
from tiercut.errors import InputError, nearest
from tiercut.plan.plan import Plan, price
from tiercut.plan.problem import Problem
from tiercut.plan.solution import Progress, Solver, quiet


@dataclass(frozen=True)
class Entry:
    """Where a solver lives, which scheme its plans are for, and what it is in a line."""

    module: str
    function: str
    scheme: str
    summary: str
    reports: bool = False
    """Whether it can say how far it is."""

    def load(self) -> Solver:
        """The solver itself; loaded only when used, so that the command line starts fast."""
        return cast(Solver, getattr(import_module(f"tiercut.plan.{self.module}"), self.function))


SOLVERS = {
    "exact": Entry(
        "exact", "solve", "aa-hsfl-ll", "the best plan, with a proof of how good it is", True
    ),
    "paper": Entry("paper", "solve", "aa-hsfl-ll", "the paper's Algorithm 2, repaired"),
    "paper-literal": Entry("paper_literal", "solve", "aa-hsfl-ll", "Algorithm 2 as printed"),
    "greedy-scan": Entry("greedy_scan", "solve", "aa-hsfl-ll", "all h, v, K; greedy assignment"),
    "brute": Entry("brute", "solve", "aa-hsfl-ll", "every plan there is; small fleets only"),
    "sfl": Entry("rivals", "single_cut", "sfl", "SFL at its best single cut"),
    "locsfl": Entry("rivals", "single_cut", "locsfl", "LocSFL at its best single cut"),
    "multihop": Entry("rivals", "multihop", "multihop", "Multihop SFL with greedy helpers"),
    "dtfl": Entry("rivals", "dtfl", "dtfl", "DTFL's tiers, as published"),
    "dtfl-contended": Entry(
        "rivals", "dtfl_contended", "dtfl", "DTFL knowing the server is shared"
    ),
    "lean": Entry("lean", "three_tiers", "aa-hsfl-ll", "the fewest bytes of a round"),
    "locsfl-lean": Entry("lean", "single_cut", "locsfl", "LocSFL at its cut with the fewest bytes"),
    "hsfl-ll": Entry("rivals", "hsfl", "hsfl-ll", "HSFL-ll with h, v and lambda given"),
}


def solver_named(name: str) -> Entry:
    """The solver called `name`."""
    if name not in SOLVERS:
        raise InputError(
            f"there is no solver {name!r}{nearest(name, SOLVERS)}; expected one of"
            f" {', '.join(SOLVERS)}"
        )
    return SOLVERS[name]


def solve(
    problem: Problem,
    solver: str = "exact",
    *,
    time_limit: float | None = None,
    progress: Progress = quiet,
    clock: Callable[[], float] = time.perf_counter,
) -> Plan:
    """The plan that `solver` makes for `problem`."""
    entry = solver_named(solver)
    run = entry.load()
    own = replace(problem, scheme=scheme_named(entry.scheme))
    start = clock()
    reporting = {"progress": progress} if entry.reports else {}
    solution = run(own, time_limit=time_limit, **reporting)
    return price(
        own,
        solution.placement,
        solver=solver,
        lower_bound=solution.lower_bound,
        wall_seconds=clock() - start,
    )
