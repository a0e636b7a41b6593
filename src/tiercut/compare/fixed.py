"""h, v and lambda for HSFL-ll, which does not choose them: given, or those of AA HSFL-ll."""

from __future__ import annotations

from dataclasses import dataclass

from tiercut.cost import scheme_named
from tiercut.errors import InputError
from tiercut.fleet import Fleet
from tiercut.plan.plan import Plan, PlanFile
from tiercut.plan.problem import Problem, Wishes
from tiercut.plan.solve import solve
from tiercut.train.events import share_of
from tiercut.train.planner import FIXED, Planner
from tiercut.units import FRACTION, parse

AS_AA = "aa"
"""The word for those of the plan that AA HSFL-ll makes for the same seed."""


@dataclass(frozen=True)
class Fixed:
    """Two layers, and how many clients aggregate."""

    aggregator_layer: int
    cut_layer: int
    aggregators: int

    @classmethod
    def given(cls, text: str, fleet: Fleet) -> Fixed:
        """What a text such as "3,8,20%" says for a fleet."""
        try:
            aggregator_layer, cut_layer, share = text.split(",")
            layers = int(aggregator_layer), int(cut_layer)
        except ValueError:
            raise InputError(
                f"--hsfl-ll {text!r} is not understood; write h, v and lambda like 3,8,20%, or"
                f" {AS_AA} for those that AA HSFL-ll chooses"
            ) from None
        fraction = parse(share, FRACTION)
        if not 0 < fraction <= 1:
            raise InputError(f"--hsfl-ll {text!r}: expected a lambda above 0, up to 1 (or 100%)")
        return cls(*layers, share_of(fraction, len(fleet)))

    @classmethod
    def of(cls, plan: Plan) -> Fixed:
        """What a plan chose."""
        chosen = plan.placement
        layers = int(chosen.aggregator_layers[0]), int(chosen.cut_layers[0])
        return cls(*layers, len(chosen.aggregators))

    def plan(self, planner: Planner, fleet: Fleet) -> PlanFile:
        """The plan that HSFL-ll makes with these, on a planner's terms."""
        wishes = Wishes(aggregator_layer=self.aggregator_layer, aggregators=self.aggregators)
        scheme = scheme_named(FIXED)
        cuts, kept = (self.cut_layer,), planner.client_layers
        problem = Problem(fleet, planner.work, cuts, planner.cost, wishes, scheme, kept)
        return planner.decided(solve(problem, FIXED), fleet)
