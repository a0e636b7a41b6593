"""Weights kept rounded beside those that are trained change nothing, to the last bit."""

import pytest
import torch
from torch import nn

from tests.engines.instances import CLASSES, FAMILIES, plain, settings, task, whole
from tiercut.engines.optimiser import Optimiser
from tiercut.engines.row import Row, prototypes_of
from tiercut.engines.shadows import make_shadows, refresh
from tiercut.engines.stacked import Stacked
from tiercut.engines.threads import Threads


class Autocast(Threads):
    """Rows as the executor `graph` has them, without shadows, on the CPU."""

    def __init__(self, bucket, settings, gradients):
        chains = prototypes_of(bucket)
        self.shadows = self.make_shadows(bucket, chains, settings)
        super().__init__(bucket, settings, gradients)  # lets convolutions take shortcuts
        self.rows = [
            Row(bucket, row, chains, gradients, settings.autocast, self.shadows)
            for row in range(bucket.first, bucket.last)
        ]

    def make_shadows(self, bucket, chains, settings):
        return {}


class Shadowed(Autocast):
    """The same with them."""

    def make_shadows(self, bucket, chains, settings):
        return make_shadows(bucket, chains, settings.autocast)

    def train(self, feed, batches, present):
        refresh(self.bucket, self.shadows)
        super().train(feed, batches, present)


@pytest.mark.parametrize("intervals", [(None, None), (2, "epoch"), ("batch", "batch")])
@pytest.mark.parametrize("optimiser", [Optimiser("sgd", 0.05, momentum=0.9), Optimiser("adam")])
@pytest.mark.parametrize("family", ["plain", "normed", "residual"])
def test_shadows_change_nothing(family, optimiser, intervals):
    work = task("aa-hsfl-ll", family, optimiser=optimiser, intervals=intervals)
    usual, fast = (Stacked(work, settings(precision="bf16"), how) for how in (Autocast, Shadowed))
    for index in range(2):
        assert usual.run_round(whole(work, index)) == fast.run_round(whole(work, index))
    for key, value in usual.weights().items():
        assert torch.equal(fast.weights()[key], value), key


class Exact(nn.Module):
    """Keeps autocast away from one of its products, as careful users do, and uses one both ways."""

    def __init__(self):
        super().__init__()
        self.fast, self.exact = nn.Linear(8, 8), nn.Linear(8, CLASSES)

    def forward(self, inputs):
        values = self.fast(inputs)
        with torch.autocast("cpu", enabled=False):
            return self.exact(self.fast(values.float()))


def test_a_product_without_autocast_has_the_weights_as_they_are_trained(monkeypatch):
    monkeypatch.setitem(FAMILIES, "careful", lambda: [*plain()[:-1], Exact()])
    work = task("aa-hsfl-ll", "careful")
    usual, fast = (Stacked(work, settings(precision="bf16"), how) for how in (Autocast, Shadowed))
    for index in range(2):
        assert usual.run_round(whole(work, index)) == fast.run_round(whole(work, index))
    assert all(torch.equal(fast.weights()[key], value) for key, value in usual.weights().items())


def test_only_products_have_shadows_and_only_where_nothing_is_shared():
    def shadows(precision, **options):
        engine = Stacked(task("sfl", "normed", **options), settings(precision=precision), Shadowed)
        engine.run_round(whole(engine.task, 0))
        (executor,) = engine._running
        return executor.shadows, executor.bucket.chains.front

    found, front = shadows("bf16")
    products = {n for n, m in front.named_modules() if isinstance(m, nn.Conv2d | nn.Linear)}
    assert {key.rpartition(".")[0] for key in found} == products
    assert {value.dtype for value in found.values()} == {torch.bfloat16}
    assert shadows("fp32")[0] == {}
    assert shadows("bf16", intervals=(None, "batch"))[0] == {}
