"""Tensors as Ray's object store takes them: written once, and read where they lie."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from tiercut.engines.feed import view

CPU = torch.device("cpu")


class Parcel(dict[str, Tensor]):
    """Tensors by name. One that came through the store is read-only memory: copy, never write."""

    def __reduce__(self) -> tuple[Callable[..., Parcel], tuple[dict[str, NDArray[Any]]]]:
        """Travel as arrays, which Ray does not copy on arrival."""
        arrays = {key: value.detach().cpu().contiguous().numpy() for key, value in self.items()}
        return _unpack, (arrays,)


def _unpack(arrays: Mapping[str, NDArray[Any]]) -> Parcel:
    return Parcel({key: view(array, CPU) for key, array in arrays.items()})
