"""How many cuts fit at once: an estimate of the bytes they take, against those that are free."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import nn

from tiercut.engines.executor import Settings
from tiercut.errors import InputError
from tiercut.models.trace import activation_shapes
from tiercut.probe.trial import Trial
from tiercut.units import show_size

Chunk = tuple[int, ...]
"""Cuts that are tried together."""
USABLE = 0.7
"""The share of free memory that is counted on; estimates are rough and others need some too."""
KEPT = 4
"""Tensors of a layer's output size that a backward pass keeps: convolved, normalised, cut off."""
BUSY = 4
"""Replicas per core, beyond which a core is no busier."""
UNKNOWN = 4 * 2**30
"""What is taken to be free where nothing says."""


def split_cuts(
    trial: Trial,
    cuts: Sequence[int],
    settings: Settings,
    at_once: int = 1,
    memory: int | None = None,
) -> list[Chunk]:
    """The cuts in chunks that fit into memory: `memory` bytes, or what is free on this machine.

    A GPU is given as many as fit. A CPU gains nothing by more than keep its cores busy, and the
    sooner a chunk ends, the less is lost when somebody stops the probe. Where chunks are tried
    `at_once`, there is one for each.
    """
    most, free = -(-len(cuts) // at_once), free_bytes(settings.device)
    if settings.device.type == "cpu":
        most = min(most, -(-BUSY * settings.threads // len(trial.clients)))
        free = free if memory is None else memory
    return into_chunks(cuts, _estimate(trial, cuts, settings), free, most)


def host_bytes(trial: Trial, chunk: Chunk, settings: Settings) -> int:
    """What a chunk takes of the memory that is not a GPU's, about."""
    return _estimate(trial, chunk, settings)(chunk) if settings.device.type == "cpu" else 0


def into_chunks(
    cuts: Sequence[int], needed: Callable[[Sequence[int]], int], free: int, most: int
) -> list[Chunk]:
    """The cuts in order, in chunks of at most `most` that need a usable share of `free` bytes."""
    chunks: list[Chunk] = []
    for cut in cuts:
        longer = (*chunks[-1], cut) if chunks else (cut,)
        if chunks and len(longer) <= most and needed(longer) <= USABLE * free:
            chunks[-1] = longer
        elif needed((cut,)) <= free:
            chunks.append((cut,))
        else:
            raise InputError(
                f"to try cut {cut} takes about {show_size(needed((cut,)))} and {show_size(free)} of"
                f" memory are free; take fewer clients with --clients"
            )
    return chunks


def _estimate(
    trial: Trial, cuts: Sequence[int], settings: Settings
) -> Callable[[Sequence[int]], int]:
    """How many bytes some of these cuts take at once."""
    task, clients = trial.task(cuts), len(trial.clients)
    kept = 1 + len(trial.optimiser.moments)
    model = _size(trial.model)
    heads = {cut: _size(task.build_head(cut)) for cut in cuts}
    samples = KEPT * task.batch * sum(math.prod(shape) for shape in activation_shapes(trial.model))

    def needed(chunk: Sequence[int]) -> int:
        rows = clients * len(chunk)
        at_work = min(settings.threads, rows) if settings.device.type == "cpu" else rows
        chunk_heads = sum(heads[cut] for cut in chunk)
        # In a stack every row has room for every head; gradients are of a row's own only.
        stack = rows * (model + chunk_heads) * kept
        gradients = rows * model + clients * chunk_heads
        return (stack + gradients + at_work * samples) * settings.dtype.itemsize

    return needed


def _size(module: nn.Module) -> int:
    return sum(tensor.numel() for tensor in module.state_dict().values())


def free_bytes(device: torch.device, meminfo: Path = Path("/proc/meminfo")) -> int:
    """The memory that is free for training on a device."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    said = meminfo.read_text() if meminfo.exists() else ""
    found = re.search(r"^MemAvailable: +(\d+) kB", said, flags=re.MULTILINE)
    return UNKNOWN if found is None else 1024 * int(found[1])
