"""A run that was trained, and what of it is known before training."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tiercut.plan.goal.curve import reached_after
from tiercut.plan.goal.rounds import Floats, Ints
from tiercut.plan.problem import Problem
from tiercut.scenario import Interval

FEATURES = ("depth of the cut", "layers that meet", "layers that meet often")


@dataclass(frozen=True)
class Lesson:
    """What was decided for a run, and its accuracy after every round."""

    h: int
    """v on two tiers."""
    v: int
    aggregators: int
    """All clients on two tiers."""
    intervals: tuple[Interval, Interval]
    """How often h+1..v and v+1..L are averaged where they are."""
    curve: tuple[float, ...]

    @property
    def setting(self) -> tuple[object, ...]:
        """What runs from other seeds have in common with it."""
        alone = self.aggregators if self.h < self.v else None
        return self.h, self.v, alone, self.intervals

    def rounds_to(self, target: float) -> float:
        """Rounds until the target; infinite where it was not reached."""
        return max(1.0, reached_after(self.curve, target, self.curve[0]))


@dataclass(frozen=True)
class Sizes:
    """What the features are relative to."""

    depth: int
    clients: int
    batches: int
    """In a round, E Q."""
    epochs: int

    @classmethod
    def of(cls, problem: Problem) -> Sizes:
        """Those of a planning problem."""
        epochs = problem.work.epochs
        return cls(problem.depth, len(problem.fleet), epochs * problem.batches, epochs)


def features(
    sizes: Sizes, h: int, v: int, aggregators: Ints, intervals: tuple[Interval, Interval]
) -> Floats:
    """FEATURES, a row for each number of aggregators; all are from 0 to 1.

    A layer meets as much as the logarithm of its copies on one host says: not at all on a client,
    fully at the server. It meets often as the logarithm of its averages in a round says.
    """
    everybody = math.log(sizes.clients)
    groups = (v - h) / sizes.depth * (1 - np.log(aggregators) / everybody)
    server = np.full(len(aggregators), 1 - v / sizes.depth)
    often = [how_often(sizes, interval) for interval in intervals]
    depth = np.full(len(aggregators), v / sizes.depth)
    return np.column_stack([depth, groups + server, groups * often[0] + server * often[1]])


def how_often(sizes: Sizes, interval: Interval) -> float:
    """From 0, once a round, to 1, every batch."""
    per_round = {"batch": sizes.batches, "epoch": sizes.epochs, "round": 1}
    per_epoch = sizes.batches / sizes.epochs
    averages = (
        per_round[interval]
        if isinstance(interval, str)
        else sizes.epochs * math.ceil(per_epoch / interval)
    )
    return math.log(averages) / math.log(sizes.batches) if sizes.batches > 1 else 0.0
