"""Weights in the precision that products are computed in, beside those that are trained.

Autocast rounds every weight where it is used, and widens its gradient, with a kernel each. On a GPU
a small step is a queue of short kernels, and what counts is how many. With shadows one of them
widens all gradients of a row before its update, and one rounds all its weights after: the same
numbers. Where a module turns autocast off, its products read the weights themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from tiercut.engines.executor import Bucket


class ShadowedConv2d(nn.Conv2d):
    """A convolution that reads its shadows under autocast."""

    shadows: Mapping[str, Tensor] = {}

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        result: Tensor = super()._conv_forward(input, *_read(self, input))
        return result


class ShadowedLinear(nn.Linear):
    """The same of a linear layer."""

    shadows: Mapping[str, Tensor] = {}

    def forward(self, input: Tensor) -> Tensor:
        """See torch."""
        return functional.linear(input, *_read(self, input))


Product = ShadowedConv2d | ShadowedLinear
KINDS: dict[type[nn.Module], type[Product]] = {
    nn.Conv2d: ShadowedConv2d,
    nn.Linear: ShadowedLinear,
}
"""What autocast rounds the parameters of: torch's own modules and no others."""


def _read(product: Product, values: Tensor) -> tuple[Tensor, Tensor | None]:
    if product.shadows and torch.is_autocast_enabled(values.device.type):
        return product.shadows["weight"], product.shadows.get("bias")
    return product.weight, product.bias


def make_shadows(
    bucket: Bucket, chains: nn.ModuleDict, dtype: torch.dtype | None
) -> dict[str, Tensor]:
    """A stack of the bucket's rows for every parameter of a product; none without autocast.

    Lets products inside `chains` read what `attach` gives them. Gradients of shared layers are
    averaged over rows, and for that they stay wide.
    """
    if dtype is None or bucket.shared:
        return {}
    for chain in chains.values():
        for module in chain.modules():
            if type(module) in KINDS:
                module.__class__ = KINDS[type(module)]  # so that names, settings and hooks stay
    weights, here = bucket.stack.weights, slice(bucket.first, bucket.last)
    names = [name for _, parameters in _products(chains) for name in parameters.values()]
    return {name: torch.empty_like(weights[name][here], dtype=dtype) for name in names}


def attach(chains: nn.ModuleDict, shadows: Mapping[str, Tensor]) -> dict[str, nn.Parameter]:
    """Give a row's products its shadows, and return them as what gradients are taken of."""
    # By .data rows do not count each other's changes as their own, which autograd would refuse.
    leaves = {name: nn.Parameter(shadow.data) for name, shadow in shadows.items()}
    if leaves:
        for product, parameters in _products(chains):
            product.shadows = {key: leaves[name] for key, name in parameters.items()}
    return leaves


def _products(chains: nn.ModuleDict) -> Iterator[tuple[Product, dict[str, str]]]:
    """Every product, with what the stack calls its parameters."""
    for chain in chains.values():
        for name, module in chain.named_modules():
            if isinstance(module, Product):
                keys = [key for key, _ in module.named_parameters(recurse=False)]
                yield module, {key: f"{name}.{key}" for key in keys}


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
