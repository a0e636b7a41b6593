"""Dropout whose masks are a function of client, layer, step and position, and of nothing else.

Torch's generators depend on who draws first, on the device and on how work is batched. A hash does
not: the mask of client 7's batch 12 is the same in every engine, on every device, in any order and
after any restart, and there is no random state to save.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor, nn

from tiercut.errors import InputError
from tiercut.seeds import Seeds

WORD = 0xFFFFFFFF
"""Hashes are 32-bit words held in 64-bit integers, the widest that every device multiplies."""


def client_key(seeds: Seeds, client: str) -> int:
    """The word that all masks of a client start from."""
    return seeds.integer("dropout", client) & WORD


def layer_key(name: str) -> int:
    """The word of one dropout layer, from its name in the model."""
    return zlib.crc32(name.encode())


def words(client: Tensor, step: Tensor, layer: int, count: int) -> Tensor:
    """Hash words of shape [*client.shape, count]; `client` and `step` are int64 of one shape."""
    start = _mix(_mix((client ^ layer) & WORD) ^ (step & WORD))
    positions = torch.arange(count, device=client.device)
    return _mix(_mix(positions) ^ start.unsqueeze(-1))


def _mix(word: Tensor) -> Tensor:
    """Scramble 32-bit words (the constants are Chris Wellons' lowbias32)."""
    word = word ^ (word >> 16)  # a copy, which is then worked on in place: that is faster
    word.mul_(0x7FEB352D).bitwise_and_(WORD)
    word.bitwise_xor_(word >> 15)
    word.mul_(0x846CA68B).bitwise_and_(WORD)
    return word.bitwise_xor_(word >> 16)


def scale(hashed: Tensor, p: float, dtype: torch.dtype) -> Tensor:
    """What activations are multiplied by: 0 with probability p, else 1 / (1 - p)."""
    kept = hashed >= math.floor(p * (WORD + 1))
    return kept.to(dtype) / (1 - p) if p < 1 else kept.to(dtype) * 0


class MaskSource(Protocol):
    """Whoever knows which client is running, and its step."""

    def scales(self, layer: int, shape: Sequence[int], p: float, dtype: torch.dtype) -> Tensor:
        """What activations of `shape` (the batch first) are multiplied by in layer `layer`."""


class ClientMasks:
    """Masks of one client at a time: set `client` and `step` before a forward pass."""

    def __init__(self, client: Tensor, step: Tensor) -> None:
        self.client, self.step = client, step

    def scales(self, layer: int, shape: Sequence[int], p: float, dtype: torch.dtype) -> Tensor:
        """See MaskSource."""
        return scale(words(self.client, self.step, layer, math.prod(shape)), p, dtype).view(*shape)


class StreamedDropout(nn.Module):
    """Takes the place of torch's dropout; drops whole channels where that one does."""

    def __init__(self, name: str, p: float, masks: MaskSource, *, channels: bool) -> None:
        super().__init__()
        self.layer, self.p, self.masks, self.channels = layer_key(name), p, masks, channels

    def forward(self, inputs: Tensor) -> Tensor:
        """Drop and rescale while training; do nothing otherwise."""
        if not self.training or self.p == 0:
            return inputs
        shape = list(inputs.shape)
        if self.channels:
            shape[2:] = [1] * len(shape[2:])
        return inputs * self.masks.scales(self.layer, shape, self.p, inputs.dtype)


_CHANNELS = (nn.Dropout1d, nn.Dropout2d, nn.Dropout3d)
_UNSUPPORTED = (nn.AlphaDropout, nn.FeatureAlphaDropout, nn.RReLU)


def stream_dropout(module: nn.Module, masks: MaskSource) -> None:
    """Replace every dropout layer inside `module`, in place; names are those within `module`."""
    for name, inner in list(module.named_modules()):
        if isinstance(inner, _UNSUPPORTED):
            raise InputError(
                f"layer {name} is a {type(inner).__name__}, whose randomness cannot be repeated"
                f" client by client; use nn.Dropout instead"
            )
        if isinstance(inner, nn.Dropout | nn.Dropout1d | nn.Dropout2d | nn.Dropout3d):
            streamed = StreamedDropout(name, inner.p, masks, channels=isinstance(inner, _CHANNELS))
            parent = module.get_submodule(name.rpartition(".")[0])
            setattr(parent, name.rpartition(".")[2], streamed)
