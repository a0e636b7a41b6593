"""What thresholds and matchings leave undecided, as an integer program for HiGHS.

y[k, c] says that k hosts up to c models, x[n, k, c] that n is one of them. Every client sits in
exactly one place, so what its batch takes is linear in x, and no big constants are needed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from tiercut.plan.limits import Box, Limits

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

INFEASIBLE, SOLVE_ERROR = 2, 4
"""How scipy says that there is no plan in the box, and that HiGHS broke off."""
SOLVER_ACCURACY = 1e-6
"""HiGHS keeps constraints and integrality to about this; bounds are lowered by as much."""


@dataclass(frozen=True, eq=False)
class Answer:
    """A bound that no plan in the box beats, and the best plan found in it, if any."""

    lower_bound: float
    served_by: Ints | None
    complete: bool
    """Whether it ended by itself, not by running out of time."""


@dataclass(eq=False)
class _Program:
    """A constraint matrix, grown row by row."""

    rows: list[int] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)

    def add(self, terms: list[tuple[int, float]], low: float, high: float) -> None:
        """Demand low <= sum of coefficient * variable <= high."""
        row = len(self.low)
        for column, value in terms:
            self.rows.append(row)
            self.columns.append(column)
            self.values.append(value)
        self.low.append(low)
        self.high.append(high)

    def constraint(self, variables: int) -> LinearConstraint:
        shape = (len(self.low), variables)
        return LinearConstraint(
            csr_array((self.values, (self.rows, self.columns)), shape=shape), self.low, self.high
        )


class PairProgram:
    """The program of one (h, v), for plans within `seconds` and `box`; single-client sites only."""

    def __init__(self, limits: Limits, seconds: float, box: Box) -> None:
        """Make a variable for every way to host, and for every way to be hosted."""
        self.limits, self.seconds, self.box = limits, seconds, box
        everybody = np.arange(len(limits.sites))
        budgets = limits.budgets(seconds, box)
        own = limits.own(budgets, limits.ceiling(seconds, box)[0])
        self.thresholds = len(box.low)
        self.hop = limits.hop_bytes * limits.sites.seconds_per_byte
        pair = limits.pairs(budgets, everybody, everybody)
        np.fill_diagonal(pair, 0)
        self.y: dict[tuple[int, int], int] = {}
        self.x: dict[tuple[int, int, int], int] = {}
        column = self.thresholds
        for k in np.flatnonzero(own >= 1):
            for c in range(1, int(min(own[k], len(everybody))) + 1):
                guests = np.flatnonzero(pair[:, k] >= c) if c > 1 else np.arange(0)
                if len(guests) < c - 1:
                    break
                self.y[int(k), c] = column
                column += 1
                for n in guests:
                    self.x[int(n), int(k), c] = column
                    column += 1
        self.variables = column

    def solve(self, time_limit: float) -> Answer:
        """The best plan in the box, proved or bounded."""
        objective = np.zeros(self.variables)
        objective[0], objective[1 : self.thresholds] = 2.0, self.limits.weight
        lower, upper = np.zeros(self.variables), np.ones(self.variables)
        lower[: self.thresholds], upper[: self.thresholds] = self.box.low, np.inf
        integral = np.ones(self.variables)
        integral[: self.thresholds] = 0
        constraint = self._program().constraint(self.variables)
        # Presolve makes some programs that HiGHS then stumbles over; as they are it solves them.
        for presolve in (True, False):
            result = milp(
                objective,
                constraints=constraint,
                bounds=Bounds(lower, upper),
                integrality=integral,
                options={"mip_rel_gap": 0.0, "time_limit": time_limit, "presolve": presolve},
            )
            if result.status != SOLVE_ERROR:
                break
        if result.status == INFEASIBLE:
            return Answer(self.seconds, None, complete=True)
        bound = result.mip_dual_bound if result.mip_dual_bound is not None else 0.0
        served_by = None if result.x is None else self._read(result.x)
        bound = min(self.seconds, bound) * (1 - SOLVER_ACCURACY)
        return Answer(bound, served_by, complete=result.status == 0)

    def _read(self, solution: Floats) -> Ints:
        served_by = np.arange(len(self.limits.sites))
        for (n, k, _), column in self.x.items():
            if solution[column] > 0.5:
                served_by[n] = k
        return served_by

    def _program(self) -> _Program:
        program = _Program()
        self._everybody_has_one_place(program)
        self._hosts_keep_their_loads(program)
        self._thresholds_hold(program)
        if self.limits.sites.problem.fleet.links.shared and self.thresholds == 2:
            self._radios_are_shared(program)
        wanted = self.limits.sites.problem.wishes.aggregators
        if wanted is not None:
            program.add([(y, 1.0) for y in self.y.values()], wanted, wanted)
        return program

    def _everybody_has_one_place(self, program: _Program) -> None:
        for places in self._places().values():
            program.add([(column, 1.0) for column, _, _ in places], 1.0, 1.0)

    def _places(self) -> dict[int, list[tuple[int, int, int]]]:
        """For each client its possible places, as (variable, host, load)."""
        places: dict[int, list[tuple[int, int, int]]] = {
            n: [] for n in range(len(self.limits.sites))
        }
        for (k, c), column in self.y.items():
            places[k].append((column, k, c))
        for (n, k, c), column in self.x.items():
            places[n].append((column, k, c))
        return places

    def _hosts_keep_their_loads(self, program: _Program) -> None:
        for (n, k, c), column in self.x.items():
            del n
            program.add([(column, 1.0), (self.y[k, c], -1.0)], -np.inf, 0.0)
        for (k, c), guests in self._guests().items():
            program.add([*((x, 1.0) for x, _ in guests), (self.y[k, c], -(c - 1.0))], -np.inf, 0.0)
        per_host: dict[int, list[tuple[int, float]]] = {}
        for (k, _), column in self.y.items():
            per_host.setdefault(k, []).append((column, 1.0))
        for terms in per_host.values():
            program.add(terms, -np.inf, 1.0)

    def _guests(self) -> dict[tuple[int, int], list[tuple[int, int]]]:
        """For each (host, load) its possible members, as (variable, client)."""
        guests: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for (n, k, c), column in self.x.items():
            guests.setdefault((k, c), []).append((column, n))
        return guests

    def _thresholds_hold(self, program: _Program) -> None:
        limits = self.limits
        for n, places in self._places().items():
            for row in limits.rows:
                if sum(row.on) > 1:
                    continue  # the sum of other rows: it helps bounds, not truth
                terms = [(1 + row.on.index(1), -1.0)]
                for column, k, c in places:
                    hop = 0.0 if n == k else self.hop[n, k]
                    need = row.alpha * limits.weak[n] + row.beta * hop
                    terms.append((column, need + row.fixed[k] + row.slope[k] * c))
                program.add(terms, -np.inf, 0.0)
        for (k, _), column in self.y.items():
            program.add([(column, limits.fetch[k]), (0, -1.0)], -np.inf, 0.0)
        total = [(0, 2.0), *((j, limits.weight) for j in range(1, self.thresholds))]
        program.add(total, -np.inf, self.seconds)

    def _radios_are_shared(self, program: _Program) -> None:
        """The true load of a shared radio, in place of the fastest possible one of the limits."""
        limits = self.limits
        batches = limits.sites.problem.batches
        for (k, c), guests in self._guests().items():
            radio = [(x, 2.0 * self.hop[n, k]) for x, n in guests]
            busy = [(x, batches * seconds) for x, seconds in radio]
            own_busy = batches * c * limits.uplink[k]
            program.add([*busy, (self.y[k, c], own_busy), (1, -1.0)], -np.inf, 0.0)
            for who, n in [*guests, (self.y[k, c], k)]:
                hop = 0.0 if n == k else self.hop[n, k]
                through = limits.weak[n] + hop + limits.hosting[k] + c * limits.uplink[k]
                alone = through + limits.server + (batches - 1) * c * limits.uplink[k]
                coefficients = {x: (batches - 1) * seconds for x, seconds in radio}
                coefficients[who] = coefficients.get(who, 0.0) + alone
                program.add([*coefficients.items(), (1, -1.0)], -np.inf, 0.0)
