"""What is too large, and block sizes that fit the chip."""

from __future__ import annotations

import pytest
import torch

from tiercut.engines.folded import blocks
from tiercut.engines.folded.chain import _reachable
from tiercut.errors import InputError

SIZES = (1, 3, 10, 16, 27, 32, 64, 100, 128, 256, 512, 2048, 6272)
SHARED_MEMORY = 227 * 1024


def test_an_activation_beyond_32_bits_is_refused():
    with pytest.raises(InputError, match="train fewer clients at once"):
        _reachable(torch.empty(32, 32, 32, 1024, 64, device="meta"))


@pytest.mark.parametrize("table", [blocks.for_convolve, blocks.for_weigh])
def test_tiles_fit_shared_memory(table):
    for rows in (32, 128, 1568, 32768):
        for channels in SIZES:
            for outputs in SIZES:
                tile = table(rows, channels, outputs)
                assert min(tile.rows, tile.cols, tile.depth) >= 16
                size = (tile.rows + tile.cols) * tile.depth * tile.stages * 2
                assert size <= SHARED_MEMORY
                assert tile.rows * tile.cols <= 256 * 32 * tile.warps


def test_strips_cover_all_rows_and_stay_within_a_client():
    for rows in (32, 49, 128, 1568, 8192, 32768):
        for channels in SIZES:
            strips = blocks.for_rows(rows, 30 * channels, channels)
            assert channels % strips.chans == 0
            assert (strips.count - 1) * strips.strip < rows <= strips.count * strips.strip


def test_few_tiles_are_split():
    assert blocks.splits(10_000, 32768, 64) == 1
    assert blocks.splits(30, 32768, 64) == 16
    assert blocks.library_weigh(2048, 256, 1024)
    assert not blocks.library_weigh(32, 256, 1024)
