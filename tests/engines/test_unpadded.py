"""Convolutions that leave the padding out of their weight gradient compute what torch's do."""

import copy

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn

from tests.engines.instances import FAMILIES, distance, reference, stacked, task, whole
from tiercut.engines import unpadded
from tiercut.engines.convolution import take_shortcuts


@pytest.fixture
def always(monkeypatch):
    """Small kernels and large images too."""
    monkeypatch.setattr(unpadded, "LARGE", 0)
    monkeypatch.setattr(unpadded, "WASTE", -1.0)


def gradients(conv, images, dtype=None):
    """The output, and the gradients of images and parameters of some loss of it."""
    images = images.clone().requires_grad_()
    with torch.autocast("cpu", dtype=dtype, enabled=dtype is not None):
        output = conv(images)
    loss = (output.double() * torch.arange(output.numel()).view(output.shape).sin()).sum()
    return [output, *torch.autograd.grad(loss, [images, *conv.parameters()])]


def both(*options, dtype=torch.float64, **more):
    """Torch's convolution, and the same one without padding."""
    torch.manual_seed(0)
    conv = nn.Conv2d(*options, **more).to(dtype)
    short = copy.deepcopy(conv)
    take_shortcuts(short)
    return conv, short


pairs = st.tuples(st.integers(1, 4), st.integers(1, 4))


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("bias", [True, False])
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kernel=pairs, stride=pairs, padding=st.tuples(*[st.integers(0, 3)] * 2), more=pairs)
def test_any_geometry_gives_the_gradients_of_torch(bias, kernel, stride, padding, more):
    # Also kernels that lie on padding alone for some outputs.
    size = [max(1, k - 2 * p) + m - 1 for k, p, m in zip(kernel, padding, more, strict=True)]
    conv, short = both(2, 3, kernel, stride, padding, bias=bias)
    images = torch.randn(2, 2, *size, dtype=torch.float64)
    for found, expected in zip(gradients(short, images), gradients(conv, images), strict=True):
        torch.testing.assert_close(found, expected)


@pytest.mark.usefixtures("always")
def test_autocast_rounds_as_torch_does():
    conv, short = both(8, 16, 3, padding=1, dtype=torch.float32)
    images = torch.randn(4, 8, 2, 2)
    found, expected = (gradients(c, images, torch.bfloat16) for c in (short, conv))
    assert [value.dtype for value in found] == [value.dtype for value in expected]
    assert torch.equal(found[0], expected[0])
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=2**-7, atol=2**-7)


@pytest.mark.parametrize(("channels", "size", "times"), [(512, 2, 1), (512, 9, 0), (64, 2, 0)])
def test_only_large_kernels_on_small_images_do_so(channels, size, times, monkeypatch):
    calls = []
    monkeypatch.setattr(unpadded, "write_weight_gradient", lambda *_: calls.append(1))
    conv = nn.Conv2d(channels, channels, 3, padding=1)
    take_shortcuts(conv)
    conv(torch.randn(1, channels, size, size)).sum().backward()
    assert len(calls) == times


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("intervals", [(None, None), ("batch", "batch")])
def test_it_trains_as_the_reference(family, intervals):
    work = task("aa-hsfl-ll", family, intervals=intervals)
    judge, fast = reference(work), stacked(work)
    for index in range(2):
        for engine in (judge, fast):
            engine.run_round(whole(work, index))
    assert distance(fast.weights(), judge.weights()) < 1e-10


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_the_number_of_threads_changes_no_bit(precision):
    work = task("aa-hsfl-ll", "normed")
    engines = [stacked(work, threads, precision) for threads in (1, 2, 5)]
    for engine in engines:
        engine.run_round(whole(work, 0))
    first, *others = (engine.weights() for engine in engines)
    assert all(torch.equal(other[key], first[key]) for other in others for key in first)
