"""Weights in the precision that products are computed in, beside those that are trained.

Autocast rounds every weight where it is used, and widens its gradient, with a kernel each. On a GPU
a small step is a queue of short kernels, and what counts is how many. With shadows one of them
widens all gradients of a row before its update, and one rounds all its weights after: the same
numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from tiercut.engines.executor import Bucket

PRODUCTS = (nn.Conv2d, nn.Linear)
"""What autocast rounds the parameters of: torch's own modules, which use them for nothing else."""


def make_shadows(
    bucket: Bucket, chains: nn.ModuleDict, dtype: torch.dtype | None
) -> dict[str, Tensor]:
    """A stack of the bucket's rows for every parameter of a product; none without autocast.

    Gradients of shared layers are averaged over rows, and for that they stay wide.
    """
    if dtype is None or bucket.shared:
        return {}
    weights, here = bucket.stack.weights, slice(bucket.first, bucket.last)
    products = [
        f"{name}.{key}"
        for chain in chains.values()
        for name, module in chain.named_modules()
        if type(module) in PRODUCTS
        for key, _ in module.named_parameters(recurse=False)
    ]
    return {key: torch.empty_like(weights[key][here], dtype=dtype) for key in products}


def refresh(bucket: Bucket, shadows: dict[str, Tensor]) -> None:
    """Round all weights anew, after somebody else changed them."""
    for key, shadow in shadows.items():
        shadow.copy_(bucket.stack.weights[key][bucket.first : bucket.last])


def widened(gradients: Sequence[Tensor], like: Sequence[Tensor]) -> list[Tensor]:
    """Gradients in the precision of `like`."""
    wide = [torch.empty_like(each, requires_grad=False) for each in like]
    torch._foreach_copy_(wide, list(gradients))
    return wide


@torch.no_grad()
def follow(shadows: Sequence[Tensor], weights: Sequence[Tensor]) -> None:
    """Round weights that were updated."""
    torch._foreach_copy_(list(shadows), list(weights))
