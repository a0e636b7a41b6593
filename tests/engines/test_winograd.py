"""Winograd's convolutions compute what torch's do, up to the rounding of float32."""

import copy

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional

from tests.engines.instances import distance, reference, stacked, task, whole
from tiercut.engines import winograd
from tiercut.engines.convolution import take_shortcuts

TOLERANCE = 3e-5
"""The largest error allowed, as a share of the largest value: plain float32 has some 2e-6."""


@pytest.fixture
def always(monkeypatch):
    """Few channels, small batches and half-filled tiles too."""
    for bound in ("SAVING", "TILES", "WIDTH"):
        monkeypatch.setattr(winograd, bound, 0)


@pytest.fixture
def calls(monkeypatch):
    """One entry for every convolution done this way."""
    found, convolve = [], winograd.convolve

    def counted(*arguments):
        found.append(1)
        return convolve(*arguments)

    monkeypatch.setattr(winograd, "convolve", counted)
    return found


def assert_near(found, expected, sizes):
    assert found.shape == expected.shape
    error = (found.double() - expected).abs().max()
    assert error <= TOLERANCE * sizes.abs().max()


def exactly(images, weight, bias, gradient):
    """The output and all gradients in float64."""
    given = [value.detach().double() for value in (images, weight, bias) if value is not None]
    inputs = [value.requires_grad_() for value in given]
    output = functional.conv2d(*inputs, padding=1)
    return [output.detach(), *torch.autograd.grad(output, inputs, gradient.double())]


lengths = st.integers(1, 11)
channels = st.sampled_from([1, 2, 3, 16, 65])
formats = st.sampled_from([torch.channels_last, torch.contiguous_format])


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 5), lengths, lengths, channels, channels, formats, st.booleans())
def test_any_shape_gives_the_output_and_gradients_of_torch(
    batch, height, width, inputs, outputs, order, with_bias
):
    torch.manual_seed(0)
    images = torch.randn(batch, inputs, height, width).to(memory_format=order)
    weight = torch.randn(outputs, inputs, 3, 3).to(memory_format=order)
    bias = torch.randn(outputs) if with_bias else None
    gradient = torch.randn(batch, outputs, height, width)
    ours = [value.requires_grad_() for value in (images, weight, bias) if value is not None]
    found = winograd.convolve(images, weight, bias)
    assert found.is_contiguous(memory_format=torch.channels_last)
    every = [found, *torch.autograd.grad(found, ours, gradient)]
    terms = (images, weight, bias, gradient)
    # Few values may come to almost nothing, with errors as large as their terms make them.
    added = exactly(*(None if one is None else one.abs() for one in terms))
    for one, judged, sizes in zip(every, exactly(*terms), added, strict=True):
        assert_near(one, judged, sizes)


def test_errors_stay_small_with_many_channels():
    torch.manual_seed(0)
    images, weight = torch.randn(8, 512, 8, 8), torch.randn(64, 512, 3, 3)
    expected = functional.conv2d(images.double(), weight.double(), padding=1)
    assert_near(winograd.convolve(images, weight, None), expected, expected)


def test_gradients_come_one_without_the_other():
    images, weight = torch.randn(2, 3, 4, 4), torch.randn(5, 3, 3, 3)
    for wanted in (images, weight):
        wanted.requires_grad_()
        winograd.convolve(images, weight, None).sum().backward()
        assert wanted.grad is not None
        wanted.grad = None
        wanted.requires_grad_(False)
    assert images.grad is None
    assert weight.grad is None


@pytest.mark.parametrize(
    ("inputs", "outputs", "batch", "size", "times"),
    [
        (256, 256, 32, 8, 1),
        (512, 512, 32, 4, 1),
        (64, 64, 32, 8, 0),  # too few channels
        (256, 256, 4, 8, 0),  # too few tiles
        (256, 256, 32, 5, 0),  # tiles mostly empty
    ],
)
def test_only_wide_convolutions_of_many_full_tiles_do_so(
    inputs, outputs, batch, size, times, calls
):
    conv = nn.Conv2d(inputs, outputs, 3, padding=1)
    take_shortcuts(conv)
    with torch.no_grad():
        conv(torch.randn(batch, inputs, size, size))
    assert len(calls) == times


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize(
    "options",
    [{"stride": 2, "padding": 1}, {"padding": 0}, {"padding": (1, 2)}, {"kernel_size": 5}],
)
def test_other_geometries_are_left_to_torch(options, calls):
    conv = nn.Conv2d(**{"in_channels": 2, "out_channels": 2, "kernel_size": 3, **options})
    take_shortcuts(conv)
    conv(torch.randn(1, 2, 8, 8))
    assert not calls


@pytest.mark.usefixtures("always")
def test_other_precisions_are_left_to_torch(calls):
    conv = nn.Conv2d(2, 2, 3, padding=1)
    take_shortcuts(conv)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        conv(torch.randn(1, 2, 8, 8))
    copy.deepcopy(conv).double()(torch.randn(1, 2, 8, 8, dtype=torch.float64))
    assert not calls
    conv(torch.randn(1, 2, 8, 8))
    assert calls


@pytest.mark.usefixtures("always")
def test_it_trains_as_the_reference(calls):
    # Without BatchNorm, which blows up the rounding of float32 on so small batches.
    work = task("aa-hsfl-ll", "plain")
    judge, fast = reference(work), stacked(work, precision="fp32")
    for engine in (judge, fast):
        engine.run_round(whole(work, 0))
    assert calls
    assert distance(fast.weights(), judge.weights()) < 1e-5


@pytest.mark.usefixtures("always")
def test_the_number_of_threads_changes_no_bit():
    work = task("aa-hsfl-ll", "normed")
    engines = [stacked(work, threads, "fp32") for threads in (1, 2, 5)]
    for engine in engines:
        engine.run_round(whole(work, 0))
    first, *others = (engine.weights() for engine in engines)
    assert all(torch.equal(other[key], first[key]) for other in others for key in first)
