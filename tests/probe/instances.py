"""Small trials that the tests of the probe share."""

import numpy as np

from tests.engines.instances import task
from tiercut.data import load
from tiercut.documents import check
from tiercut.engines.task import Examples
from tiercut.fleet import build_fleet
from tiercut.probe.result import with_results
from tiercut.probe.trial import Trial, prepare
from tiercut.scenario import EngineSection, Scenario, TrainingSection
from tiercut.seeds import Seeds

CPU = EngineSection(device="cpu", precision="fp64", threads=2)


def scenario(clients=6, examples=60, probe=(), training=(), **sections):
    """Digits on a handful of clients; `probe` and `training` are changes to those sections."""
    values = {
        "name": "x",
        "model": {"name": "small"},
        "fleet": {"clients": clients, "examples": examples},
        "training": {"batch": 16, "rate": 5e-3, **dict(training)},
        "probe": {"clients": 2, "epochs": 2, "held_out": 200, **dict(probe)},
        **sections,
    }
    return check(Scenario, values, "the test")


def prepared(**changes):
    """The trial of such a scenario."""
    asked = scenario(**changes)
    return prepare(asked, load(asked.data), build_fleet(asked.fleet, Seeds(asked.seed)))


def tiny(family, sizes=(9, 5, 12), optimiser="sgd"):
    """Tiny images and five layers: quick, with dropout (plain) or BatchNorm (normed)."""
    made = task("locsfl", family, sizes)
    rng = np.random.default_rng(1)
    held_out = Examples(
        rng.integers(0, 256, (40, 2, 6, 6), dtype=np.uint8),
        rng.integers(0, 4, 40),
        made.examples.mean,
        made.examples.std,
    )
    training = TrainingSection(batch=4, optimiser=optimiser, rate=0.05)
    return Trial(
        made.model, made.clients, made.shards, made.examples, held_out, training, False, 2, Seeds(3)
    )


def found(table, threshold=1.0, cuts=None, **changes):
    """A probe of a model called small that measured `table` [cuts, epochs, clients]."""
    table = np.asarray(table, dtype=float)
    facts = {
        "model": "small",
        "scheme": "locsfl",
        "seed": 0,
        "clients": tuple(f"c{n}" for n in range(table.shape[2])),
        "epochs": table.shape[1],
        "classes": 10,
        "held_out": 100,
        "fingerprint": "f",
        "threshold": threshold,
    }
    cuts = range(3, 3 + len(table)) if cuts is None else cuts
    return with_results({**facts, **changes}, dict(zip(cuts, table, strict=True)))
