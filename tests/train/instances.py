"""Small runs that the tests of training share."""

import json

from torch import nn

from tiercut.documents import check
from tiercut.scenario import Scenario
from tiercut.train.record import WALL_CLOCK
from tiercut.train.setting import build_setting


def net(classes=10):
    """Five layers with BatchNorm and dropout, for 8x8 digits."""

    def layer(inputs, outputs, *more):
        return nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU(), *more
        )

    return nn.Sequential(
        layer(1, 4),
        layer(4, 6, nn.MaxPool2d(2)),
        layer(6, 6, nn.Dropout(0.3)),
        nn.Sequential(nn.Flatten(), nn.Linear(6 * 16, 16), nn.ReLU(), nn.Dropout(0.5)),
        nn.Linear(16, classes),
    )


net.input_shape = (1, 8, 8)

BASE = {
    "name": "tiny",
    "model": {"name": "tests.train.instances:net"},
    "fleet": {"clients": 5, "examples": 12, "strong_fraction": 0.4, "rates": ["2 Mbps", "6 Mbps"]},
    "training": {"batch": 4, "epochs": 2, "rounds": 4, "rate": 1e-3},
    "engine": {"threads": 1, "device": "cpu"},
}
"""Five clients with three batches each; a round takes a tenth of a second."""


def scenario(**changes):
    """The scenario above, with keys of its sections changed: training={"rounds": 2}."""
    data = {key: dict(value) if isinstance(value, dict) else value for key, value in BASE.items()}
    for key, value in changes.items():
        data[key] = {**data.get(key, {}), **value} if isinstance(value, dict) else value
    return check(Scenario, data, "the test")


def setting(scheme=None, plan=None, **changes):
    return build_setting(scenario(**changes), scheme=scheme, plan=plan)


def lines(folder):
    """The records in a run's folder as JSON objects."""
    return [json.loads(line) for line in (folder / "rounds.jsonl").read_text().splitlines()]


def repeatable(folder):
    """The records without what differs between two runs."""
    return [{k: v for k, v in line.items() if k not in WALL_CLOCK} for line in lines(folder)]
