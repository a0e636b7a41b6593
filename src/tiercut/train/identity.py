"""What must not change between the parts of a run, so that they add up to one.

Where and how fast it is computed may change, and how many rounds there are.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from tiercut.documents import check, show_value
from tiercut.engines.task import Brief, Task
from tiercut.errors import InputError
from tiercut.fleet import Access, Between
from tiercut.scenario import Scenario
from tiercut.train.setting import Setting

FREE = (
    "name",
    "training.rounds",
    "data.dir",
    "engine.executor",
    "engine.device",
    "engine.threads",
    "engine.workers",
    "engine.address",
    "engine.checkpoint_every",
    "fleet.file",
    "model.profile",
)
"""Keys of a scenario that may differ, as may those of [probe], which training does not read.

Of files it matters what is in them, which `inputs_of` looks at, and not where they are.
"""

SAME_STATE = {"ray": "stacked"}
"""Engines that go on from each other's states."""


def inputs_of(setting: Setting) -> dict[str, str]:
    """What a run is made from beside its scenario, as hashes by name."""
    fleet, planner, task = setting.fleet, setting.planner, setting.task
    assert isinstance(fleet.links, Access | Between)
    return {
        "scheme": digest(task.scheme),
        "plan": digest(None if planner.given is None else planner.given.model_dump_json()),
        "fleet": digest(
            fleet.names,
            fleet.throughput,
            fleet.server_throughput,
            fleet.to_server,
            fleet.links.shared,
            fleet.links.rates,
        ),
        "profile": digest(planner.work.profile.model_dump_json()),
        "data": digest(*_data_of(task)),
    }


def _data_of(task: Brief) -> tuple[object, ...]:
    """What tells one lot of data from another: of data that is elsewhere, how much there is."""
    if isinstance(task, Task):
        return (*task.shards, task.examples.labels)
    return (task.clients, task.counts)


def fingerprint(setting: Setting) -> str:
    """A run's identity as one word.

    What is as it is by default has no part in it: a key that a later version adds changes nothing.
    """
    kept = _kept(setting.scenario, brief=True)
    return digest(json.dumps({**kept, **inputs_of(setting)}, sort_keys=True))


def check_identity(manifest: Mapping[str, Any], setting: Setting, source: str) -> None:
    """Refuse to go on with a run that was started from something else.

    Where the run is of an earlier version, keys that were not there yet are as by default.
    """
    then = check(Scenario, manifest["scenario"], f"{source}: scenario")
    was, now = _kept(then), _kept(setting.scenario)
    changes = [
        f"{key} was {show_value(was.get(key))} and is {show_value(now.get(key))}"
        for key in sorted(was.keys() | now.keys())
        if was.get(key) != now.get(key)
    ]
    inputs = inputs_of(setting)
    changes += [
        f"the {key} is another one" for key in inputs if inputs[key] != manifest["inputs"].get(key)
    ]
    if changes:
        raise InputError(
            f"{source}: this run was started with something else: {changes[0]}; resume it with what"
            f" it was started with, or start another in a folder of its own with -o"
        )


def as_json(scenario: Scenario) -> dict[str, Any]:
    """A scenario as a JSON object."""
    return scenario.model_dump(mode="json")


def _kept(scenario: Scenario, *, brief: bool = False) -> dict[str, Any]:
    """Those keys of a scenario that must not change; `brief`, but for what is as by default."""
    name = scenario.engine.name
    engine = scenario.engine.model_copy(update={"name": SAME_STATE.get(name, name)})
    same = scenario.model_copy(update={"engine": engine})
    return {
        key: value
        for key, value in flatten(same.model_dump(mode="json", exclude_defaults=brief)).items()
        if key not in FREE and not key.startswith("probe.")
    }


def flatten(value: Mapping[str, Any], at: str = "") -> dict[str, Any]:
    """Nested tables as one, with keys such as training.rate."""
    flat: dict[str, Any] = {}
    for key, inside in value.items():
        if isinstance(inside, Mapping):
            flat |= flatten(inside, f"{at}{key}.")
        else:
            flat[f"{at}{key}"] = inside
    return flat


def digest(*values: object) -> str:
    """SHA-256 of some values."""
    total = hashlib.sha256()
    for value in values:
        total.update(value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode())
    return total.hexdigest()
