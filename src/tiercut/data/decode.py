"""Many small image files into one array, by several threads."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from tiercut.data.dataset import MOST_BYTES
from tiercut.data.progress import Progress
from tiercut.errors import InputError
from tiercut.units import show_size

GREY, COLOURED = ("1", "L", "LA"), ("P", "PA", "RGB", "RGBA", "CMYK", "YCbCr")
"""Kinds of pixels with 8 bits a channel."""
BLOCK = 256
"""Files that a thread takes at once."""
MOST_THREADS = 8


def decode_images(files: Sequence[str], progress: Progress) -> NDArray[np.uint8]:
    """Images [S, C, H, W]; grey if all are grey, else in three colours."""
    width, height = _size(files[0])
    shape = (len(files), 3, height, width)
    if np.prod(shape, dtype=np.float64) > MOST_BYTES:
        raise InputError(
            f"{files[0]}: {len(files):,} images of {width}x{height} need"
            f" {show_size(float(np.prod(shape, dtype=np.float64)))}; expected at most"
            f" {show_size(MOST_BYTES)}, make them smaller"
        )
    images = np.empty(shape, dtype=np.uint8)

    def decode(start: int) -> bool:
        block = range(start, min(start + BLOCK, len(files)))
        kinds = {_decode(files[i], images[i]) for i in block}
        return False not in kinds

    pool = ThreadPoolExecutor(min(MOST_THREADS, os.cpu_count() or 1))
    try:
        all_grey = True
        for done, grey in enumerate(pool.map(decode, range(0, len(files), BLOCK))):
            all_grey &= grey
            progress(min((done + 1) * BLOCK, len(files)), len(files))
    finally:
        pool.shutdown(cancel_futures=True)  # after the first wrong file, the others do not matter
    return np.ascontiguousarray(images[:, :1]) if all_grey else images


def _size(file: str) -> tuple[int, int]:
    from PIL import Image

    try:
        with Image.open(file) as image:
            return image.size
    except (OSError, Image.DecompressionBombError) as problem:
        raise _unreadable(file, problem) from None


def _decode(file: str, into: NDArray[np.uint8]) -> bool:
    """Put an image into its place; returns whether it is grey."""
    from PIL import Image

    _, height, width = into.shape
    try:
        with Image.open(file) as image:
            if image.size != (width, height):
                raise InputError(
                    f"{file}: the image has {image.width}x{image.height} pixels; expected"
                    f" {width}x{height}, as the first image has"
                )
            if image.mode not in GREY + COLOURED:
                raise InputError(
                    f"{file}: the image's pixels are {image.mode}; expected 8 bits a channel"
                )
            into[:] = np.asarray(image.convert("RGB")).transpose(2, 0, 1)
            return image.mode in GREY
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as problem:
        raise _unreadable(file, problem) from None


def _unreadable(file: str, problem: Exception) -> InputError:
    return InputError(f"{file}: this is no whole image ({problem}); get it anew or remove it")
