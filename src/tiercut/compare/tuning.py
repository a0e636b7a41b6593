"""The learning rate at which each scheme learns most, found with the same budget for all.

Every rate is a comparison in a folder of its own, so that it is shown, stopped and continued like
any other. Accuracy is measured on examples that the clients give up for it, not on the test set.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from tiercut.compare.comparison import Comparison, Job
from tiercut.data.progress import Progress, silent
from tiercut.engines.task import Task
from tiercut.errors import InputError
from tiercut.measure.results import Results, read_results
from tiercut.probe.held_out import give_up, without
from tiercut.train.overrides import override
from tiercut.train.setting import Setting, sizes_of

RATE = "training.rate"
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


def trials(comparison: Comparison, rates: Sequence[float]) -> dict[float, Trial]:
    """What is trained at each rate."""
    for scheme, own in comparison.overrides.items():
        if RATE in own:
            raise InputError(f"the rate is what is tuned; leave --override {scheme}:{RATE} away")
    return {
        rate: Trial(
            override(comparison.scenario, training={"rate": rate}),
            comparison.specs,
            comparison.seeds,
            comparison.overrides,
            comparison.fixed,
            comparison.data_dir,
        )
        for rate in rates
    }


def folder_at(folder: Path, rate: float) -> Path:
    """Where the comparison at a rate is."""
    return folder / f"rate-{rate}"


@dataclass(frozen=True)
class Found:
    """How accurate a scheme became at each rate; None where a run did not get to its end."""

    title: str
    accuracy: dict[float, float | None]

    @property
    def best(self) -> float | None:
        """The rate of the highest accuracy, the lower of equals; None where no run ended."""
        ended = {rate: value for rate, value in self.accuracy.items() if value is not None}
        return max(sorted(ended), key=lambda rate: ended[rate], default=None)

    @property
    def is_at_the_edge(self) -> bool:
        """Whether rates that were not tried may be better still."""
        return self.best in (min(self.accuracy), max(self.accuracy))


def read_tuning(folder: Path, rates: Iterable[float]) -> dict[str, Found]:
    """What the comparisons in a folder came to, by scheme."""
    at = {rate: read_results(folder_at(folder, rate)) for rate in rates}
    titles = next(iter(at.values())).manifest.titles
    return {
        name: Found(title, {rate: _accuracy(results, name) for rate, results in at.items()})
        for name, title in titles.items()
    }


def _accuracy(results: Results, name: str) -> float | None:
    (one,) = (each for each in results.contenders if each.name == name)
    return fmean(run.points[-1].accuracy for run in one.runs) if one.is_complete else None


def to_document(found: dict[str, Found], command: Sequence[str]) -> dict[str, Any]:
    """tuning.json; every rate's folder has the rest."""
    return {
        "version": 1,
        "command": list(command),
        "schemes": {
            name: {
                "accuracy": {str(rate): value for rate, value in one.accuracy.items()},
                "rate": one.best,
            }
            for name, one in found.items()
        },
    }
