"""What is trained to find the setting that suits each scheme best, with one budget for all.

Every setting is a comparison in a folder of its own, so that it is shown, stopped and continued
like any other. Accuracy is measured on examples that the clients give up for it, not on the test
set. What it came to is in tiercut.measure.tuning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from tiercut.compare.comparison import Comparison, Job
from tiercut.data import Load, load
from tiercut.engines.task import Task
from tiercut.errors import InputError
from tiercut.measure.tuning import Settings
from tiercut.probe.held_out import give_up, without
from tiercut.train.setting import Setting, sizes_of

GIVEN_UP = 10
"""Of so many examples a client gives up one."""


class Trial(Comparison):
    """A comparison that is measured on what its clients give up."""

    def setting(self, job: Job, load: Load = load) -> Setting:
        """See Comparison."""
        return hold_out(super().setting(job, load))


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
        comparison.until,
        label,
    )
