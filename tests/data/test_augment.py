"""Augmentation: equal to its slow twin, image by image, and drawn apart from all else."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tiercut.data.augment import OFFSETS, PADDING, augment, draw
from tiercut.seeds import Seeds

relaxed = settings(deadline=None)


def slow_twin(image, dy, dx, flip):
    """Pad, crop, mirror: as the definition says."""
    channels, height, width = image.shape
    padded = np.zeros((channels, height + 2 * PADDING, width + 2 * PADDING), image.dtype)
    padded[:, PADDING : PADDING + height, PADDING : PADDING + width] = image
    cropped = padded[:, dy : dy + height, dx : dx + width]
    return cropped[:, :, ::-1] if flip else cropped


@given(
    shape=st.tuples(*[st.integers(1, 9)] * 4),
    dtype=st.sampled_from([np.uint8, np.float32, np.float64, np.float16]),
    seed=st.integers(0, 2**32),
)
@relaxed
def test_it_equals_the_slow_twin(shape, dtype, seed):
    images = np.random.default_rng(seed).integers(0, 256, shape).astype(dtype)
    draws = draw(Seeds(seed), "client", 0, len(images))
    made = augment(torch.from_numpy(images), torch.from_numpy(draws))
    pairs = zip(images, draws.tolist(), strict=True)
    expected = np.stack([slow_twin(image, *how) for image, how in pairs])
    assert made.numpy().dtype == dtype
    np.testing.assert_array_equal(made.numpy(), expected)


def test_the_middle_crop_changes_nothing():
    images = torch.arange(2 * 3 * 4 * 5, dtype=torch.float32).view(2, 3, 4, 5)
    middle = torch.tensor([[PADDING, PADDING, 0]] * 2)
    assert torch.equal(augment(images, middle), images)
    assert torch.equal(augment(images, middle + torch.tensor([0, 0, 1])), images.flip(3))


def test_it_can_be_traced_with_shapes_known_beforehand():
    images, draws = torch.rand(5, 3, 8, 8), torch.from_numpy(draw(Seeds(0), "a", 0, 5))
    traced = torch.export.export(Twin(), (images, draws)).module()
    other = torch.from_numpy(draw(Seeds(0), "a", 1, 5))
    assert torch.equal(traced(images, other), augment(images, other))


class Twin(torch.nn.Module):
    def forward(self, images, draws):
        return augment(images, draws)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
def test_a_cuda_graph_can_hold_it():
    images = torch.randint(0, 256, (16, 3, 32, 32), dtype=torch.uint8, device="cuda")
    draws = torch.from_numpy(draw(Seeds(0), "a", 0, 16)).cuda()
    augment(images, draws)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        made = augment(images, draws)
    draws.copy_(torch.from_numpy(draw(Seeds(0), "a", 1, 16)))
    graph.replay()
    assert torch.equal(made, augment(images, draws))


def test_draws_cover_every_offset_evenly():
    draws = draw(Seeds(0), "client", 0, 90_000)
    assert draws.dtype == np.uint8
    for column, values in zip(draws.T, (OFFSETS, OFFSETS, 2), strict=True):
        shares = np.bincount(column) / len(draws)
        assert shares == pytest.approx(1 / values, rel=0.05)
        assert len(shares) == values


def test_draws_depend_on_seed_client_and_epoch_alone():
    first = draw(Seeds(1), "a", 2, 50)
    np.testing.assert_array_equal(first, draw(Seeds(1), "a", 2, 50))
    for seed, client, epoch in ((2, "a", 2), (1, "b", 2), (1, "a", 3)):
        assert not np.array_equal(first, draw(Seeds(seed), client, epoch, 50))
