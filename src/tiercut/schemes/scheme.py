"""The vocabulary that schemes are written in.

A model is cut in three parts: the client's (layers 1..h), the aggregator's (h+1..v) and the
server's (v+1..L); on two tiers h = v and the aggregator's part is empty. Under a local loss an
auxiliary head at v trains everything below it, and belongs to the aggregator's part. Every client
has its own replica of every part; a scheme says which replicas become one again, and when.

What is computed where and sent to whom follows from the tiers and the loss: `Scheme.cost`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from tiercut.cost import SchemeCost
from tiercut.errors import InputError
from tiercut.scenario import Interval


class Part(StrEnum):
    """A stretch of layers that one kind of node runs."""

    CLIENT = "client"
    AGGREGATOR = "aggregator"
    SERVER = "server"


class Over(StrEnum):
    """Whose replicas are averaged."""

    GROUP = "group"
    """The clients of one aggregator."""
    ALL = "all"
    """Everybody in the round."""


@dataclass(frozen=True)
class Average:
    """Replicas of `part` become their mean, weighted by the clients' examples, at every `every`."""

    part: Part
    over: Over
    every: Interval

    def __post_init__(self) -> None:
        """Between rounds only replicas on one host meet; anything else would cost traffic."""
        if self.every == "round":
            return
        on_one_host = {Part.AGGREGATOR: Over.GROUP, Part.SERVER: Over.ALL}
        if on_one_host.get(self.part) != self.over:
            raise InputError(
                f"the {self.part} part cannot be averaged over {self.over} within a round: its"
                f" replicas are on several machines; average the aggregator's over the group, the"
                f" server's over all, or at the end of the round"
            )


AT_ROUND_END = tuple(Average(part, Over.ALL, "round") for part in Part)
"""Everybody restarts from one model: what every scheme here does."""


@dataclass(frozen=True)
class Scheme:
    """A way to train on three tiers, as a value."""

    cost: SchemeCost
    """Its name, tiers and loss, from which delay and traffic follow."""
    solver: str
    """The planner that places it when nobody says otherwise."""
    averages: tuple[Average, ...]

    def __post_init__(self) -> None:
        """Without one model at the end of a round there is nothing to evaluate or go on from."""
        missing = [a.part for a in AT_ROUND_END if a not in self.averages]
        if missing:
            raise InputError(
                f"{self.name} never averages the {missing[0]} part over all clients; add"
                f" AT_ROUND_END to its averages"
            )

    @property
    def name(self) -> str:
        """What files and commands call it."""
        return self.cost.name

    @property
    def local_loss(self) -> bool:
        """Whether a head at the cut trains the layers below it."""
        return self.cost.local_loss

    def interval(self, part: Part) -> Interval:
        """How often a part's replicas on one host are averaged."""
        return next(
            (a.every for a in self.averages if a.part == part and a.every != "round"), "round"
        )

    def with_intervals(self, intervals: Mapping[Part, Interval | None]) -> Scheme:
        """The same scheme, with parts averaged on their hosts at other intervals; None keeps."""
        over = {Part.AGGREGATOR: Over.GROUP, Part.SERVER: Over.ALL}
        wanted = {part: every for part, every in intervals.items() if every is not None}
        kept = [a for a in self.averages if a.every == "round" or a.part not in wanted]
        new = [Average(p, over[p], every) for p, every in wanted.items() if every != "round"]
        return replace(self, averages=(*kept, *new))
