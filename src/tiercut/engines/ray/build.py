"""The engine that a scenario asks for, on the cluster there is."""

from __future__ import annotations

import atexit
from contextlib import ExitStack

import torch

from tiercut.cluster.connect import connected, machines
from tiercut.engines.build import Engine, find_executor, settings_on
from tiercut.engines.executor import Factory, Settings
from tiercut.engines.ray.room import find_room
from tiercut.engines.task import Task
from tiercut.errors import InputError
from tiercut.scenario import EngineSection
from tiercut.schemes import Part


def build_sharded(section: EngineSection, task: Task) -> Engine:
    """An engine with workers of its own, on the cluster that this process is part of or joins."""
    _stay_connected(section.address)
    from tiercut.engines.ray.cluster import RayCluster
    from tiercut.engines.ray.crew import Crew
    from tiercut.engines.ray.engine import Sharded

    nodes = machines()
    on_gpu = _on_gpu(section.device, any(node.get("GPU") for node in nodes))
    room = find_room(nodes, section.workers, section.threads, on_gpu=on_gpu)
    device = torch.device("cuda" if on_gpu else "cpu")
    settings = settings_on(device, section.precision, room.cpus)
    executor = find_waiting(section.executor, settings, task, alone=room.workers == 1)
    return Sharded(task, settings, executor, Crew(RayCluster(room), room.workers))


def _stay_connected(address: str | None) -> None:
    """Join a cluster to the end of the process, unless somebody has joined one already."""
    stay = ExitStack()
    stay.enter_context(connected(address))
    atexit.register(stay.close)


def _on_gpu(device: str, there_are: bool) -> bool:
    """Whether workers get GPUs; which ones, Ray decides."""
    if device not in ("auto", "cpu", "cuda"):
        raise InputError(
            f"device is {device!r}, and Ray decides which GPU a worker gets; use auto, cpu or cuda"
        )
    return there_are if device == "auto" else device == "cuda"


def find_waiting(name: str, settings: Settings, task: Task, *, alone: bool) -> Factory:
    """An executor whose steps can wait for other workers, where they have to."""
    waits = task.scheme.interval(Part.SERVER) == "batch" and not alone
    if waits and settings.device.type == "cuda":
        if name == "folded":
            raise InputError(
                "executor is folded, which cannot wait for other workers within a batch; use the"
                " executor graph, one worker, or another server_interval"
            )
        name = "graph"
    return find_executor(name, settings, task)
