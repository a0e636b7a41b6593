"""The setting that suits each scheme best, found with the same budget for all.

Every setting is a comparison in a folder of its own, so that it is shown, stopped and continued
like any other. Accuracy is measured on examples that the clients give up for it, not on the test
set.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from tiercut.compare.comparison import Comparison, Job
from tiercut.compare.override import Own
from tiercut.compare.settings import Settings
from tiercut.data.progress import Progress, silent
from tiercut.engines.task import Task
from tiercut.errors import InputError
from tiercut.measure.results import Contender, read_results
from tiercut.measure.targets import find_reach
from tiercut.plan.goal.objective import Kind
from tiercut.probe.held_out import give_up, without
from tiercut.train.setting import Setting, sizes_of

GIVEN_UP = 10
"""Of so many examples a client gives up one."""


class Trial(Comparison):
    """A comparison that is measured on what its clients give up."""

    def setting(self, job: Job, progress: Progress = silent) -> Setting:
        """See Comparison."""
        return hold_out(super().setting(job, progress))


def hold_out(setting: Setting) -> Setting:
    """The same, trained on nine tenths of every client's examples and measured on the others."""
    task = setting.task
    assert isinstance(task, Task)
    stream = setting.seeds.stream("tune", "held out")
    given = [give_up(shard, len(shard) // GIVEN_UP, stream) for shard in task.shards]
    shards = tuple(map(without, task.shards, given))
    chosen = np.sort(np.concatenate(given))
    if not len(chosen):
        raise InputError(
            f"no client has {GIVEN_UP} examples, so none has one to give up for measuring; give"
            f" the clients more with examples in [fleet]"
        )
    seen = task.examples
    return replace(
        setting,
        task=replace(task, shards=shards),
        test=replace(seen, images=seen.images[chosen], labels=seen.labels[chosen]),
        fleet=replace(setting.fleet, examples=sizes_of(shards)),
    )


def trials(comparison: Comparison, settings: Mapping[str, Settings]) -> dict[str, Trial]:
    """What is trained for each label: the schemes that have a setting of that name."""
    labels = list(dict.fromkeys(label for own in settings.values() for label in own))
    return {label: _trial(comparison, label, settings) for label in labels}


def _trial(comparison: Comparison, label: str, settings: Mapping[str, Settings]) -> Trial:
    specs = dict(zip(comparison.schemes, comparison.specs, strict=True))
    own = {scheme: those[label] for scheme, those in settings.items() if label in those}
    for scheme, keys in own.items():
        twice = [key for key in keys if key in comparison.overrides.get(scheme, {})]
        if twice:
            raise InputError(f"{twice[0]} is tried; leave --override {scheme}:{twice[0]} away")
    return Trial(
        comparison.scenario,
        tuple(specs[scheme] for scheme in own),
        comparison.seeds,
        {name: {**comparison.overrides.get(name, {}), **keys} for name, keys in own.items()},
        comparison.fixed,
        comparison.data_dir,
    )


@dataclass(frozen=True)
class Aim:
    """What the best setting is best at: accuracy in the end, or the least on the way to one."""

    kind: Kind | None = None
    target: float | None = None

    def cost(self, tried: Tried) -> float:
        """What is to be as low as can be; infinite where a run did not get there."""
        if self.kind is None:
            cost = None if tried.accuracy is None else -tried.accuracy
        else:
            cost = tried.seconds if self.kind == "time-to-accuracy" else tried.bytes
        return math.inf if cost is None else cost


@dataclass(frozen=True)
class Tried:
    """What a scheme came to in one setting; None where a run did not get to its end."""

    own: Own
    accuracy: float | None
    seconds: float | None = None
    """On the way to the target; None where there is none or a run did not reach it."""
    bytes: float | None = None


@dataclass(frozen=True)
class Found:
    """What a scheme came to in each setting."""

    title: str
    tried: Mapping[str, Tried]
    aim: Aim = Aim()

    @property
    def best(self) -> str | None:
        """The label of the best setting, the first of equals; None where none got there."""
        label = min(self.tried, key=lambda label: self.aim.cost(self.tried[label]))
        return None if math.isinf(self.aim.cost(self.tried[label])) else label

    @property
    def own(self) -> Own:
        """The best setting."""
        assert self.best is not None
        return self.tried[self.best].own

    @property
    def at_the_edge(self) -> Iterator[str]:
        """The keys whose best value is the least or the greatest tried, so that more may help."""
        for key, value in self.own.items():
            values = {each.own[key] for each in self.tried.values()} if _is_number(value) else ()
            if len(values) > 1 and value in (min(values), max(values)):
                yield key


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def read_tuning(folder: Path, settings: Mapping[str, Settings], aim: Aim) -> dict[str, Found]:
    """What the comparisons in a folder came to, by scheme."""
    labels = {label for own in settings.values() for label in own}
    at = {label: read_results(folder / label) for label in labels}
    ends = {(one.name, label): one for label, results in at.items() for one in results.contenders}
    return {
        name: Found(
            ends[name, next(iter(own))].title,
            {label: _tried(keys, ends[name, label], aim) for label, keys in own.items()},
            aim,
        )
        for name, own in settings.items()
    }


def _tried(own: Own, one: Contender, aim: Aim) -> Tried:
    if not one.is_complete:
        return Tried(own, None)
    accuracy = fmean(run.points[-1].accuracy for run in one.runs)
    if aim.target is None:
        return Tried(own, accuracy)
    reach = find_reach(one, aim.target)
    if not reach.by_all or reach.seconds is None or reach.bytes is None:
        return Tried(own, accuracy)
    return Tried(own, accuracy, reach.seconds.mean, reach.bytes.mean)


def to_document(found: Mapping[str, Found], aim: Aim, command: Sequence[str]) -> dict[str, Any]:
    """tuning.json; every setting's folder has the rest."""
    return {
        "version": 2,
        "command": list(command),
        "objective": aim.kind,
        "target": aim.target,
        "schemes": {
            name: {
                "tried": {label: asdict(tried) for label, tried in one.tried.items()},
                "best": one.best,
            }
            for name, one in found.items()
        },
    }
