"""How many workers a cluster takes, and what each of them gets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tiercut.errors import InputError

Node = Mapping[str, float]
"""What a machine has, as Ray counts it: CPU, GPU."""


@dataclass(frozen=True)
class Room:
    """What is asked of the cluster."""

    workers: int
    cpus: int
    """Cores for each worker, and so its threads."""
    gpus: float = 0
    """GPUs for each."""


def find_room(
    nodes: Sequence[Node], workers: int | None, threads: int | None, *, on_gpu: bool
) -> Room:
    """Share a cluster out: a worker per GPU or per machine, unless a number is given.

    Cores are shared alike, so many that all workers find a machine.
    """
    useful = [node for node in nodes if node.get("GPU" if on_gpu else "CPU", 0) >= 1]
    count = workers or int(sum(node["GPU"] for node in useful) if on_gpu else len(useful))
    gpus = _gpu_share(useful, count) if on_gpu else 0.0
    most = int(max((node.get("CPU", 0) for node in useful), default=0))
    for cpus in range(most, 0, -1) if threads is None else [threads]:
        if sum(_fitting(node, cpus, gpus) for node in useful) >= count > 0:
            return Room(count, cpus, gpus)
    kind = "GPUs" if on_gpu else "cores"
    each = "" if threads is None else f" with {threads} threads each"
    raise InputError(
        f"{count} workers{each} do not fit the cluster, whose machines have"
        f" {[int(node.get('GPU' if on_gpu else 'CPU', 0)) for node in nodes]} {kind}; ask for fewer"
        f" workers or threads, or add machines"
    )


def _gpu_share(nodes: Sequence[Node], workers: int) -> float:
    """A whole GPU, or a part of one where there are more workers than GPUs."""
    total = int(sum(node["GPU"] for node in nodes))
    return 1 / max(1, -(-workers // total)) if total else 1.0


def _fitting(node: Node, cpus: int, gpus: float) -> int:
    """How many workers a machine takes."""
    by_cpu = int(node.get("CPU", 0) // cpus)
    return min(by_cpu, int(node["GPU"]) * round(1 / gpus)) if gpus else by_cpu
