"""Trackers by name."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from tiercut.errors import InputError, MissingError, nearest
from tiercut.train.observer import Observer
from tiercut.train.trackers.guard import Guarded
from tiercut.train.trackers.mlflow import Mlflow
from tiercut.train.trackers.tensorboard import Tensorboard
from tiercut.train.trackers.wandb import Wandb

_OBSERVERS: dict[str, tuple[str, Callable[[Any], Observer]]] = {
    "tensorboard": ("torch.utils.tensorboard", Tensorboard),
    "mlflow": ("mlflow", Mlflow),
    "wandb": ("wandb", Wandb),
}
"""What each needs imported, and who uses it."""

TRACKERS = tuple(_OBSERVERS)


def find_tracker(name: str, warn: Callable[[str], None]) -> Observer:
    """The tracker called `name`; `warn` is told should it fail on the way."""
    if name not in _OBSERVERS:
        raise InputError(
            f"there is no tracker {name!r}{nearest(name, TRACKERS)}; expected one of"
            f" {', '.join(TRACKERS)}"
        )
    module, build = _OBSERVERS[name]
    try:
        return Guarded(name, build(import_module(module)), warn)
    except ImportError as problem:
        raise MissingError(
            f"{name} is not installed ({problem}); run `pip install 'tiercut[{name}]'`"
        ) from None
