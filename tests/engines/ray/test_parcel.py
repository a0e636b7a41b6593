"""Tensors come out of the store as they went in, and are not copied on the way out."""

import pickle

import pytest
import torch

from tiercut.engines.layout import repeat
from tiercut.engines.ray.parcel import Parcel

TENSORS = {
    "plain": torch.arange(6.0).view(2, 3),
    "channels last": repeat(torch.randn(4, 3, 2, 2), 1)[0],
    "counter": torch.tensor(7),
    "empty": torch.empty(0, 3, dtype=torch.float64),
    "learned": torch.nn.Parameter(torch.ones(2)),
}


@pytest.mark.parametrize("name", TENSORS)
def test_there_and_back(name):
    buffers = []
    sent = pickle.dumps(Parcel({name: TENSORS[name]}), protocol=5, buffer_callback=buffers.append)
    stored = [bytes(buffer.raw()) for buffer in buffers]
    found = pickle.loads(sent, buffers=stored)
    assert isinstance(found, Parcel)
    assert found[name].dtype == TENSORS[name].dtype
    assert torch.equal(found[name], TENSORS[name])
    assert len(buffers) == 1  # outside of the pickle, where it can be read in place
