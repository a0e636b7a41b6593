"""What a step computes in, and with which operations."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Precision:
    """Activations' type; whether the Triton kernels run it; whether products may round to tf32."""

    dtype: torch.dtype
    kernels: bool = False
    tf32: bool = False


PRECISIONS = {
    "bf16": Precision(torch.bfloat16, kernels=True),
    "tf32": Precision(torch.float32, tf32=True),
    "fp32": Precision(torch.float32),
    "fp64": Precision(torch.float64),
}


@contextmanager
def rounding(precision: Precision) -> Iterator[None]:
    """Let torch's float32 products round to tf32, or not, and restore its settings after."""
    products, convolutions = torch.backends.cuda.matmul, torch.backends.cudnn
    before = products.allow_tf32, convolutions.allow_tf32
    products.allow_tf32 = convolutions.allow_tf32 = precision.tf32
    try:
        yield
    finally:
        products.allow_tf32, convolutions.allow_tf32 = before
