"""Plans for whatever fleet there is, always on the same terms."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from tiercut.cost import SCHEMES, Placement, SchemeCost, Workload, check_placement, scheme_named
from tiercut.documents import check
from tiercut.errors import InputError
from tiercut.fleet import Fleet
from tiercut.plan.plan import Plan, PlanFile, price
from tiercut.plan.problem import Problem, Wishes, all_cuts
from tiercut.plan.replan import Replanned, carry_over, replan
from tiercut.plan.solve import solve, solver_named
from tiercut.scenario import CostModel

IN_FORCE = "the plan in force"
FIXED = "hsfl-ll"
"""The solver that is given h, v and lambda instead of choosing them."""


@dataclass(frozen=True, eq=False)
class Planner:
    """A solver, the scheme its plans are for, and what both are told.

    A scheme of the user's own is planned as the one its solver knows, and priced as itself. A plan
    that was given is kept to for as long as the fleet stays as it was.
    """

    scheme: SchemeCost
    solver: str
    work: Workload
    cuts: tuple[int, ...] | None
    cost: CostModel
    given: PlanFile | None = None
    client_layers: int | None = None
    """The fewest layers that a client keeps; see Problem."""

    def __post_init__(self) -> None:
        """HSFL-ll has nothing to choose from."""
        if self.solver == FIXED and (self.given is None or self.given.aggregator_layer is None):
            raise InputError(
                "HSFL-ll does not choose its layers and aggregators itself; give them as a plan:"
                " `tiercut plan SCENARIO --solver hsfl-ll --aggregator-layer H --cuts V"
                " --lambda SHARE -o plan.json`, then --plan plan.json"
            )

    def check(self, fleet: Fleet) -> None:
        """Refuse terms on which `first` could not plan, without planning."""
        if self.given is None:
            self._problem(fleet)

    def first(self, fleet: Fleet) -> Plan:
        """The plan to start with."""
        if self.given is None:
            return self._solve(fleet)
        source = "the plan given"
        self.given.check_clients(fleet.names, source)
        return self._price(fleet, self.given.placement(source), source)

    def again(self, fleet: Fleet, old: PlanFile) -> Replanned:
        """The plan for a fleet that has changed, and what the old one would cost there."""
        if self.solver == "exact" and self.scheme.three_tiers and len(fleet) > 1:
            found = replan(self._problem(fleet), old, IN_FORCE)
            kept, new = self._as_own(fleet, found.kept), self._as_own(fleet, found.new)
            return replace(found, kept=kept, new=new)
        kept = self.keep(fleet, old)
        before, now = old.clients or (), fleet.names
        left = tuple(name for name in before if name not in set(now))
        joined = tuple(name for name in now if name not in set(before))
        new = kept if self._is_alone(fleet) else self._solve(fleet)
        return Replanned(kept, new, left, joined)

    def for_some(self, fleet: Fleet, old: PlanFile) -> Plan:
        """The plan for those of the fleet that take part; a given plan is only thinned out."""
        if self.given is not None or self._is_alone(fleet):
            return self.keep(fleet, old)
        return self._solve(fleet)

    def keep(self, fleet: Fleet, old: PlanFile) -> Plan:
        """The old plan for those who are there; who lost its aggregator serves itself.

        On two tiers, who is new is cut as the first one is.
        """
        if self.scheme.three_tiers:
            placement, _, _ = carry_over(old, fleet, IN_FORCE)
        else:
            cuts = old.placement(IN_FORCE).cut_layers.tolist()
            cut_of = dict(zip(old.clients or (), cuts, strict=True))
            placement = Placement.two_tiers([cut_of.get(name, cuts[0]) for name in fleet.names])
        return self._price(fleet, placement, f"kept from {IN_FORCE}")

    def decided(self, plan: Plan, fleet: Fleet) -> PlanFile:
        """A plan as what a file holds of it: the decision, with the clients' names."""
        data = {**plan.to_dict(), "scheme": known_as(plan.scheme), "clients": fleet.names}
        return check(PlanFile, data, IN_FORCE)

    def _is_alone(self, fleet: Fleet) -> bool:
        """Whether there is nobody to group."""
        return len(fleet) == 1 and self.scheme.three_tiers

    def _solve(self, fleet: Fleet) -> Plan:
        return self._as_own(fleet, solve(self._problem(fleet), self.solver))

    def _problem(self, fleet: Fleet) -> Problem:
        known = scheme_named(solver_named(self.solver).scheme)
        cuts, wishes, kept = self.cuts, Wishes(), self.client_layers
        if self.solver == FIXED:
            assert self.given is not None
            assert self.given.cut_layer is not None
            share = len(set(self.given.aggregator_of)) / len(self.given.aggregator_of)
            count = math.ceil(share * len(fleet) - 1e-9)
            cuts = (self.given.cut_layer,)
            wishes = Wishes(aggregator_layer=self.given.aggregator_layer, aggregators=count)
            kept = self.given.aggregator_layer if kept is None else kept
        if cuts is None:
            deeper = known if known.three_tiers else self.scheme
            cuts = all_cuts(self.work.profile.depth, deeper, kept)
        return Problem(fleet, self.work, cuts, self.cost, wishes, known, kept)

    def _as_own(self, fleet: Fleet, plan: Plan) -> Plan:
        """A plan for the scheme that the solver knows, as one for the scheme that is trained."""
        if plan.scheme == self.scheme:
            return plan
        own = self._price(fleet, plan.placement, plan.solver)
        return replace(own, wall_seconds=plan.wall_seconds)

    def _price(self, fleet: Fleet, placement: Placement, solver: str) -> Plan:
        own = placement.for_scheme(self.scheme)
        check_placement(own, fleet, self.work.profile.depth)
        cuts = tuple(sorted(set(own.cut_layers.tolist())))
        # Tiers do not enter the price, and only problems of two tiers may have a single client.
        scheme = replace(self.scheme, three_tiers=False)
        problem = Problem(fleet, self.work, cuts, self.cost, scheme=scheme)
        return replace(price(problem, own, solver=solver), scheme=self.scheme)


def known_as(scheme: SchemeCost) -> str:
    """What files call a scheme: its name, or that of a shipped one with as many tiers."""
    if scheme.name in SCHEMES:
        return scheme.name
    return "aa-hsfl-ll" if scheme.three_tiers else "dtfl"
