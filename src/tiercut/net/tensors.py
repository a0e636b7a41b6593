"""Tensors as they travel: a checked dtype and shape in the header, raw bytes in the payload.

Neither end copies: what is sent is a view of the tensor, and what has come becomes tensors where it
lies. Nothing is unpickled, and only these dtypes exist.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Annotated, Literal, Self, get_args

import torch
from pydantic import Field, model_validator
from torch import Tensor

from tiercut.documents import Document, check
from tiercut.net.frames import Refused
from tiercut.scenario import Wire

DType = Literal["float32", "float64", "bfloat16", "int64", "int8", "uint8", "bool"]
DTYPES: dict[str, torch.dtype] = {name: getattr(torch, name) for name in get_args(DType)}

MOST_DIMENSIONS = 8
MOST_BYTES = 2**32
"""Of one tensor, far above what any layer has; what is due is for the plan to say."""


class TensorHeader(Document):
    """What a tensor on the wire is."""

    dtype: DType
    shape: tuple[Annotated[int, Field(ge=0)], ...] = Field(max_length=MOST_DIMENSIONS)

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        # Zeros count as ones: torch cannot make every empty shape, for its strides overflow.
        found = prod(max(1, length) for length in self.shape) * DTYPES[self.dtype].itemsize
        if found > MOST_BYTES:
            raise ValueError(f"a tensor of more than {MOST_BYTES:,} bytes")
        return self


def describe(tensor: Tensor) -> TensorHeader:
    """The header of a tensor; an InputError if it is none that can be sent."""
    return _header(tensor.dtype, tuple(tensor.shape))


def describe_packed(
    shape: tuple[int, ...], wire: Wire, dtype: torch.dtype
) -> tuple[TensorHeader, ...]:
    """The headers of what `engines.wire.pack` makes of such values: what is due before it comes."""
    if wire == "int8":
        return _header(torch.int8, shape), _header(torch.float32, shape[:1])
    return (_header(torch.bfloat16 if wire == "bf16" else dtype, shape),)


def _header(dtype: torch.dtype, shape: tuple[int, ...]) -> TensorHeader:
    name = str(dtype).removeprefix("torch.")
    return check(TensorHeader, {"dtype": name, "shape": shape}, "a tensor to be sent")


def size(header: TensorHeader) -> int:
    """The bytes of a tensor on the wire."""
    return prod(header.shape) * DTYPES[header.dtype].itemsize


def payload_of(tensors: Iterable[Tensor]) -> list[memoryview]:
    """The bytes of tensors, without a copy where their values lie in order on the CPU.

    They must not change before they are sent.
    """
    return [_bytes_of(tensor.detach().cpu().contiguous()) for tensor in tensors]


def _bytes_of(tensor: Tensor) -> memoryview:
    # Said outright, since the stride of a single value is anything, and then it has no other view.
    in_order = tensor.as_strided((tensor.numel(),), (1,))
    return in_order.view(torch.uint8).numpy().data


def tensors_from(headers: Sequence[TensorHeader], payload: memoryview) -> list[Tensor]:
    """The tensors in a received payload; they share its memory."""
    due = sum(map(size, headers))
    if due != len(payload):
        raise Refused(f"{len(payload):,} bytes of payload for tensors of {due:,}")
    tensors: list[Tensor] = []
    start = 0
    for header in headers:
        tensors.append(_tensor(header, payload, start))
        start += size(header)
    return tensors


def _tensor(header: TensorHeader, payload: memoryview, start: int) -> Tensor:
    dtype, count = DTYPES[header.dtype], size(header)
    if count == 0:  # torch reads nothing from an empty buffer
        return torch.empty(header.shape, dtype=dtype)
    raw = torch.frombuffer(payload, dtype=torch.uint8, count=count, offset=start)
    if raw.data_ptr() % dtype.itemsize:  # some processors read numbers only at multiples of a size
        raw = raw.clone()
    if dtype == torch.bool and bool((raw > 1).any()):
        raise Refused("a bool that is neither 0 nor 1")
    return raw.view(dtype).view(header.shape)
