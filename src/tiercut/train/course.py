"""A round's fleet, plan and turnout: all from the setting, the round's number and the last plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tiercut.cost import Placement
from tiercut.engines.task import Round
from tiercut.fleet import Fleet, Ints
from tiercut.plan.plan import Plan, PlanFile
from tiercut.plan.replan import Replanned
from tiercut.train.events import changed_fleet
from tiercut.train.setting import Setting
from tiercut.train.turnout import draw_participants, draw_presence

MOST_PLANS = 100
"""Plans remembered, by who takes part: small fleets see the same turnout again."""


@dataclass(frozen=True, eq=False)
class Leg:
    """One round as it will be: what it costs, and what the engine is to do."""

    plan: Plan
    """For those who take part."""
    round: Round
    """For all clients of the start, in their order."""
    replanned: Replanned | None
    """Where the fleet changed before it."""

    def to_dict(self) -> dict[str, Any]:
        """Its part of a round's record."""
        plan = self.plan
        clients, cuts = len(plan.placement.aggregator_of), np.unique(plan.placement.cut_layers)
        grouped = plan.scheme.three_tiers
        return {
            "round_seconds": plan.seconds.round,
            "round_bytes": plan.traffic.total,
            "clients": clients,
            "lost": clients - int(self.round.present[-1].sum()),
            "aggregator_layer": int(plan.placement.aggregator_layers[0]) if grouped else None,
            "cut_layer": int(cuts[0]) if len(cuts) == 1 else None,
            "cut_layers": None if len(cuts) == 1 else tuple(cuts.tolist()),
            "aggregators": len(plan.placement.aggregators) if grouped else None,
            "replanned": self.replanned is not None,
            "gain": None if self.replanned is None else self.replanned.gain,
        }


class Course:
    """The rounds' legs, in turn."""

    def __init__(self, setting: Setting, done: int, decision: PlanFile) -> None:
        """Go on after round `done` with the plan that was in force there."""
        self._setting, self.decision = setting, decision
        self.fleet = setting.fleet
        for number in sorted({e.round for e in setting.scenario.events if e.round <= done}):
            self.fleet = self._changed(number)
        self._plans: dict[frozenset[str], Plan] = {}

    def leg(self, number: int, live: Fleet | None = None) -> Leg:
        """Round `number`, which counts from 1; `live` is who is there, where devices are real."""
        setting, training = self._setting, self._setting.scenario.training
        replanned = self._replan(self._changed(number) if live is None else live)
        taking_part = draw_participants(
            self.fleet.names, training.participation, setting.seeds, number
        )
        here = np.array([n for n, name in enumerate(self.fleet.names) if name in taking_part])
        plan = self._plan_for(taking_part, here)
        names = [self.fleet.names[n] for n in here]
        present = draw_presence(
            names,
            plan.placement,
            training.epochs,
            training.client_dropout,
            setting.seeds,
            number,
        )
        return Leg(plan, self._round(number, names, plan, present), replanned)

    def _changed(self, number: int) -> Fleet:
        setting = self._setting
        return changed_fleet(self.fleet, setting.scenario.events, number, setting.seeds)

    def _replan(self, fleet: Fleet) -> Replanned | None:
        if fleet is self.fleet and tuple(self.decision.clients or ()) == fleet.names:
            return None
        self.fleet = fleet
        planner = self._setting.planner
        found = planner.again(fleet, self.decision)
        self.decision = planner.decided(found.new, fleet)
        self._plans.clear()
        return found

    def _plan_for(self, taking_part: frozenset[str], here: Ints) -> Plan:
        if taking_part not in self._plans:
            if len(self._plans) == MOST_PLANS:
                self._plans.clear()
            planner = self._setting.planner
            everybody = len(here) == len(self.fleet)
            make = planner.keep if everybody else planner.for_some
            self._plans[taking_part] = make(self.fleet.subset(here), self.decision)
        return self._plans[taking_part]

    def _round(self, number: int, names: list[str], plan: Plan, present: np.ndarray) -> Round:
        """The round in the order of the task's clients; those who are absent get any place."""
        clients, placement = self._setting.task.clients, plan.placement
        position = {name: n for n, name in enumerate(clients)}
        place = np.array([position[name] for name in names])
        whole = Placement(
            np.full(len(clients), placement.aggregator_layers[0]),
            np.full(len(clients), placement.cut_layers[0]),
            np.arange(len(clients)),
        )
        whole.aggregator_layers[place] = placement.aggregator_layers
        whole.cut_layers[place] = placement.cut_layers
        whole.aggregator_of[place] = place[placement.aggregator_of]
        there = np.zeros((len(present), len(clients)), dtype=np.bool_)
        there[:, place] = present
        return Round(number - 1, whole, there, plan.seconds)
