"""Profiles of the shipped models, traced once for all tests."""

from functools import cache

import pytest
import torch

from tiercut.models.trace import trace
from tiercut.models.zoo import build_model


@cache
def _traced(name):
    return trace(build_model(name))


@pytest.fixture
def traced():
    """A fresh trace of the shipped model of that name."""
    return _traced


@pytest.fixture
def mmac(traced):
    """Millions of multiply-adds of every layer, to three digits as in the specification."""
    return lambda name: [round(layer.flops / 2e6, 3) for layer in traced(name).layers]


@pytest.fixture
def elements(traced):
    """Elements of what every layer passes on, for one sample."""
    return lambda name: [layer.activation_bytes / 4 for layer in traced(name).layers]


@pytest.fixture(autouse=True)
def one_thread():
    """Tests run beside one another; threads that wait for a busy core cost more than they give."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
