"""Small training tasks that the tests of all engines share."""

import itertools

import numpy as np
import torch
from torch import nn

from tiercut.cost import Placement
from tiercut.engines.executor import Settings
from tiercut.engines.optimiser import Optimiser
from tiercut.engines.reference import Reference
from tiercut.engines.stacked import Stacked
from tiercut.engines.task import Examples, Round, Task, seeded
from tiercut.engines.threads import Threads
from tiercut.models.layered import LayeredModel
from tiercut.models.resnet import Bottleneck
from tiercut.schemes import find_scheme
from tiercut.schemes.scheme import Part
from tiercut.seeds import Seeds

CLASSES = 4
RAGGED = (9, 5, 12, 7, 4)
"""Examples of five clients: full, short and missing batches of 4, and a left-over single one."""


def plain():
    """Convolutions and dropout, no BatchNorm."""
    return [
        nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.ReLU()),
        nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        nn.Sequential(nn.Conv2d(4, 6, 3, padding=1), nn.ReLU(), nn.Dropout2d(0.2)),
        nn.Sequential(nn.Flatten(), nn.Linear(6 * 9, 8), nn.ReLU(), nn.Dropout(0.5)),
        nn.Linear(8, CLASSES),
    ]


def normed():
    """BatchNorm everywhere, in the manner of the VGGs."""

    def layer(inputs, outputs):
        return nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU()
        )

    tail = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, CLASSES))
    return [
        layer(2, 4),
        layer(4, 4),
        nn.Sequential(*layer(4, 6), nn.MaxPool2d(2)),
        layer(6, 6),
        tail,
    ]


def residual():
    """Residual blocks, in the manner of ResNet-101."""
    tail = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, CLASSES))
    return [
        nn.Sequential(nn.Conv2d(2, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU()),
        Bottleneck(4, 2, 1),
        Bottleneck(8, 2, 2),
        Bottleneck(8, 2, 1),
        tail,
    ]


def dropping():
    """Convolutions and dropout of the kind that folds, no BatchNorm."""
    *first, third, fourth, last = plain()
    return [*first, nn.Sequential(*third[:2], nn.Dropout(0.2)), fourth, last]


FAMILIES = {"plain": plain, "normed": normed, "residual": residual}
FOLDING = {"dropping": dropping, "normed": normed, "residual": residual}
"""The like, of which the executor `folded` knows every layer."""


def task(scheme="aa-hsfl-ll", family="plain", sizes=RAGGED, intervals=(None, None), **changes):
    """A task of tiny images for as many clients as there are sizes."""
    values = {"batch": 4, "epochs": 2, "seeds": Seeds(3), "optimiser": Optimiser("sgd", 0.05)}
    values |= changes
    with seeded(1):
        modules = (FAMILIES | FOLDING)[family]()
        model = LayeredModel.from_modules(modules, name=family, input_shape=(2, 6, 6))
    rng = np.random.default_rng(0)
    total = sum(sizes)
    examples = Examples(
        rng.integers(0, 256, (total, 2, 6, 6), dtype=np.uint8),
        rng.integers(0, CLASSES, total),
        mean=(0.5, 0.4),
        std=(0.3, 0.2),
    )
    ends = np.cumsum([0, *sizes])
    chosen = find_scheme(scheme) if isinstance(scheme, str) else scheme
    every = dict(zip((Part.AGGREGATOR, Part.SERVER), intervals, strict=True))
    return Task(
        model=model,
        scheme=chosen.with_intervals(every),
        examples=examples,
        clients=tuple(f"c{n}" for n in range(len(sizes))),
        shards=tuple(np.arange(a, b) for a, b in itertools.pairwise(ends)),
        **values,
    )


def placement(task, h=2, v=3, aggregator_of=None):
    """Groups for three tiers; the same cut, or one per client, for two."""
    count = len(task.clients)
    if task.scheme.cost.cut_per_client:
        return Placement.two_tiers([1 + n % 4 for n in range(count)])
    if not task.scheme.cost.three_tiers:
        return Placement.two_tiers([v] * count)
    return Placement.three_tiers(
        h, v, [0, 0, 2, 2, 0][:count] if aggregator_of is None else aggregator_of
    )


def whole(task, index, where=None):
    """A round in which everybody stays."""
    present = np.ones((task.epochs, len(task.clients)), dtype=bool)
    return Round(index, placement(task) if where is None else where, present)


def settings(threads=2, precision="fp64"):
    return Settings(torch.device("cpu"), precision, threads)


def stacked(task, threads=2, precision="fp64"):
    return Stacked(task, settings(threads, precision), Threads)


def reference(task, dtype=torch.float64):
    return Reference(task, dtype=dtype)


def distance(first, second):
    """The largest difference between two models, over the size of the second's values."""
    assert first.keys() == second.keys()
    return max(
        float(
            (first[k].double() - second[k].double()).abs().max()
            / second[k].double().abs().max().clamp(1e-30)
        )
        for k in first
        if first[k].numel()
    )
