"""Memory that one layer frees stays with the process, for the next layer to take.

By default glibc gives every thread a heap of its own, hands its free end back to the system and
never keeps blocks beyond 32 MiB. The activations of large models then come as fresh pages, layer by
layer, for which the threads of a process wait on one another. One common heap that only grows has
none of this.
"""

from __future__ import annotations

import ctypes
import platform

# The options' numbers in glibc's malloc.h.
_TRIM_THRESHOLD, _MMAP_MAX, _ARENA_MAX = -1, -4, -8
_NEVER = 2**31 - 1


def keep_freed_memory() -> None:
    """From now on, for all threads that start later; without glibc nothing changes."""
    if platform.libc_ver()[0] != "glibc":
        return
    mallopt = ctypes.CDLL(None).mallopt
    mallopt(_MMAP_MAX, 0)
    mallopt(_TRIM_THRESHOLD, _NEVER)
    mallopt(_ARENA_MAX, 1)
