"""Reading CIFAR-10's pickled batches, where a pickle is a program and may be hostile.

The names that such a batch needs are answered with the two stand-ins below, which accept a plain
array of bytes and nothing else; every other name is refused before anything is run.
"""

from __future__ import annotations

import io
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiercut.data.files import reading
from tiercut.errors import InputError


class _HostileError(Exception):
    """A pickle asks for what no batch of images needs."""


class _Dtype:
    """Stands in for numpy.dtype: bytes, whatever else is said about them."""

    def __init__(self, code: Any, *_: Any) -> None:
        if code not in ("u1", b"u1"):
            raise _HostileError(f"an array of {code!r}")

    def __setstate__(self, state: Any) -> None:
        """Byte order and the like mean nothing for bytes."""


class _Array:
    """Stands in for an array under reconstruction: its state is its shape and its bytes."""

    def __init__(self, *_: Any) -> None:
        self.value: NDArray[np.uint8] = np.empty(0, dtype=np.uint8)

    def __setstate__(self, state: Any) -> None:
        """Take the bytes only if there are as many as the shape says."""
        _, shape, dtype, fortran, data = state
        if not isinstance(dtype, _Dtype) or not isinstance(data, bytes) or fortran:
            raise _HostileError("an array that is no block of bytes")
        if len(data) != math.prod(shape):
            raise _HostileError(f"an array of {len(data)} bytes that claims the shape {shape}")
        self.value = np.frombuffer(data, dtype=np.uint8).reshape(shape)


_ALLOWED = {
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy._core.multiarray", "_reconstruct"): _Array,
    ("numpy", "ndarray"): None,  # only ever named, as what to reconstruct
    ("numpy", "dtype"): _Dtype,
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """The stand-in of an allowed name."""
        if (module, name) not in _ALLOWED:
            raise _HostileError(f"{module}.{name}")
        return _ALLOWED[module, name]


def read_batch(path: Path, pixels: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Images [S, pixels] and labels of a pickled batch."""
    batch = _unpickle(path)
    fields = batch if isinstance(batch, dict) else {}
    data, labels = (fields.get(key, fields.get(key.encode())) for key in ("data", "labels"))
    images = data.value if isinstance(data, _Array) else None
    if images is None or images.ndim != 2 or images.shape[1] != pixels or len(images) == 0:
        raise InputError(
            f"{path}: the batch has no array 'data' with rows of {pixels} bytes; get it anew"
        )
    if not isinstance(labels, list) or len(labels) != len(images) or not _all_small(labels):
        raise InputError(
            f"{path}: the batch has no list 'labels' with a whole number for each of {len(images)}"
            f" images; get it anew"
        )
    return images, np.array(labels, dtype=np.int64)


def _all_small(labels: list[Any]) -> bool:
    return all(type(label) is int and abs(label) < 2**31 for label in labels)


def _unpickle(path: Path) -> Any:
    with reading(path):
        data = path.read_bytes()
    try:
        return _Unpickler(io.BytesIO(data), encoding="bytes").load()
    except _HostileError as found:
        raise InputError(
            f"{path}: this pickle asks for {found}, which no batch of images needs; it may be"
            f" hostile and was not run, get it anew from its official address"
        ) from None
    except Exception as problem:  # a damaged pickle can fail in any way
        raise InputError(
            f"{path}: the pickle is cut short or damaged ({type(problem).__name__}); get it anew"
        ) from None
