"""A run that is killed with SIGKILL and resumed is the run that was never killed, to the bit."""

import itertools
from functools import cache

import pytest
import torch
from safetensors.torch import load_file

from tests.train.instances import repeatable, setting
from tests.train.victim import random_delays, train_until_killed
from tiercut.train.loop import run

EVENTS = [
    {"round": 2, "share": 0.4, "slow_down": 3.0},
    {"round": 3, "clients": ["client-2"], "leave": True},
    {"round": 4, "share": 0.5, "rates": ["1 Mbps", "2 Mbps"]},
]
UNRELIABLE = {"participation": 0.7, "client_dropout": 0.3}
CASES = {
    "momentum, events, participation, failures": {
        "training": {"optimiser": "sgd", "momentum": 0.9, "rate": 0.05, **UNRELIABLE},
        "events": EVENTS,
    },
    "adam, augmentation, one shared model": {
        "training": {"aggregator_interval": "batch", "server_interval": "batch", **UNRELIABLE},
        "data": {"augment": True},
    },
    "dtfl, rare checkpoints": {
        "scheme": "dtfl",
        "training": UNRELIABLE,
        "events": EVENTS,
        "engine": {"checkpoint_every": 3},
    },
    "reference": {"engine": {"name": "reference"}, "training": UNRELIABLE, "events": EVENTS},
}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The folder of a run of a case that nobody disturbed."""

    @cache
    def of(name):
        folder = tmp_path_factory.mktemp("undisturbed") / "run"
        run(setting(**CASES[name]), folder)
        return folder

    return of


def assert_same(folder, undisturbed):
    assert repeatable(folder) == repeatable(undisturbed)
    for name in ("model.safetensors", "checkpoints/round-000004.safetensors"):
        one, other = load_file(folder / name), load_file(undisturbed / name)
        assert one.keys() == other.keys()
        assert all(torch.equal(one[key], other[key]) for key in one)


HALTS = [("epoch", 1), ("epoch", 3), ("before rename", 3), ("after rename", 3)]


@pytest.mark.parametrize("name", list(CASES)[:3])
def test_killed_within_a_round_and_within_a_checkpoint(undisturbed, tmp_path, name):
    folder = tmp_path / "run"
    for halt in HALTS:
        assert not train_until_killed(CASES[name], folder, halt)
    assert train_until_killed(CASES[name], folder)
    assert_same(folder, undisturbed(name))
    assert not [p for p in folder.rglob(".*") if p.name != ".lock"], "something was left behind"


@pytest.mark.parametrize(("name", "seed"), [*zip(CASES, (1, 2, 3, 4), strict=True)])
def test_killed_at_random_moments(undisturbed, tmp_path, name, seed):
    folder = tmp_path / "run"
    delays = itertools.islice(random_delays(seed, most=0.4), 5)
    kills = [delay for delay in delays if not train_until_killed(CASES[name], folder, delay=delay)]
    assert kills
    train_until_killed(CASES[name], folder)
    assert_same(folder, undisturbed(name))
