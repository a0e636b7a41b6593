"""Random crops and mirror images: drawn on the host, applied on the device.

An image is moved by up to four pixels each way, black where it came from outside, and mirrored or
not. The draws of a client and epoch do not depend on who else trains, or where.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from tiercut.seeds import Seeds

PADDING = 4
OFFSETS = 2 * PADDING + 1


def draw(seeds: Seeds, client: str, epoch: int, count: int) -> NDArray[np.uint8]:
    """Rows (dy, dx, flip) for `count` images: offsets of the crop from 0 to 8, and 1 to mirror."""
    stream = seeds.stream("augment", client, epoch)
    return stream.integers(0, (OFFSETS, OFFSETS, 2), size=(count, 3), dtype=np.uint8)


def augment(images: Tensor, draws: Tensor) -> Tensor:
    """Images [M, C, H, W] cropped and mirrored as `draws` [M, 3] say; any type, any device.

    One gather with shapes known beforehand, so that a CUDA graph can hold it.
    """
    count, channels, height, width = images.shape
    down, right, flip = draws.long().unbind(1)
    column = torch.arange(width, device=images.device)
    column = torch.where(flip[:, None] == 1, column.flip(0), column) + right[:, None]
    row = torch.arange(height, device=images.device) + down[:, None]
    pixel = row[:, :, None] * (width + 2 * PADDING) + column[:, None, :]
    padded = functional.pad(images, (PADDING,) * 4)
    index = pixel.view(count, 1, height * width).expand(-1, channels, -1)
    return padded.flatten(2).gather(2, index).view(images.shape)
