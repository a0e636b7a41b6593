"""The engine that a scenario asks for, on the device there is."""

from __future__ import annotations

import os
import warnings
from typing import Protocol

import torch
from torch import Tensor

from tiercut.engines.executor import Factory, Settings
from tiercut.engines.reference import Reference
from tiercut.engines.stacked import Stacked
from tiercut.engines.task import Brief, OnEpoch, Round, State, Task, Trained, quiet
from tiercut.engines.threads import Threads
from tiercut.errors import InputError, MissingError
from tiercut.scenario import EngineSection


class Engine(Protocol):
    """Trains a task round by round; from one seed all engines give the same weights."""

    def run_round(self, plan: Round, on_epoch: OnEpoch = quiet) -> Trained:
        """Train one round; the next one starts from its average."""

    def weights(self) -> dict[str, Tensor]:
        """The model as it is now, under its own names."""

    def to_state(self) -> State:
        """Everything that the next round depends on."""

    def load_state(self, state: State) -> None:
        """Go on from a saved state."""


def find_settings(section: EngineSection) -> Settings:
    """Where and how precisely to execute."""
    threads = section.threads if section.threads is not None else os.cpu_count() or 1
    return settings_on(_find_device(section.device), section.precision, threads)


def settings_on(device: torch.device, precision: str, threads: int) -> Settings:
    """Settings that a device can follow, here or elsewhere."""
    if precision == "tf32" and device.type != "cuda":
        raise InputError("precision is tf32, which only CUDA devices have; use fp32 or bf16")
    return Settings(device, precision, threads)


def _find_device(name: str) -> torch.device:
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise InputError(f"device is {name!r}; expected auto, cpu, cuda or cuda:1") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise MissingError(f"device is {name!r}, and this machine has no CUDA GPU; use cpu or auto")
    return device


def build_engine(section: EngineSection, task: Brief) -> Engine:
    """The engine called for, ready to train."""
    if section.name == "net" or not isinstance(task, Task):
        raise InputError(
            "the engine net trains on real devices, each with its own data; start it with"
            " `tiercut serve`, or use the engine stacked"
        )
    if section.name == "ray":
        from tiercut.engines.ray.build import build_sharded

        return build_sharded(section, task)
    settings = find_settings(section)
    if section.name == "reference":
        return Reference(task, dtype=settings.dtype)
    return Stacked(task, settings, find_executor(section.executor, settings, task))


def find_executor(name: str, settings: Settings, task: Brief) -> Factory:
    """The executor called `name`; `auto` takes the fastest that runs this task here."""
    on_gpu = settings.device.type == "cuda"
    if name == "auto":
        name = "folded" if on_gpu else "threads"
    if (name != "threads") != on_gpu:
        raise InputError(
            f"executor is {name} and the device is {settings.device}; threads is for the CPU, graph"
            f" and folded are for CUDA"
        )
    if name == "threads":
        return Threads
    if name == "folded":
        from tiercut.engines.folded import unsupported
        from tiercut.engines.folding import Folded

        obstacle = unsupported(task.model.layers)
        if obstacle is None:
            return Folded
        warnings.warn(f"{obstacle}; training with executor graph instead", stacklevel=2)
    from tiercut.engines.graph import Graph

    return Graph
