"""Where a verb's pieces of work are done: here, one or several at a time, or many on Ray."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from tiercut.cli.progress import counting
from tiercut.errors import InputError, nearest

if TYPE_CHECKING:
    from tiercut.cluster.workers import Workers
    from tiercut.scenario import EngineSection

RAY = "ray"

OnOption = Annotated[
    str | None, typer.Option("--on", help="ray: many at once [here, one after another].")
]
AtOnceOption = Annotated[
    int, typer.Option("--at-once", help="So many at a time here, each in a process of its own.")
]
RayAddressOption = Annotated[
    str | None,
    typer.Option("--ray-address", help="HOST:PORT of a Ray cluster, or auto [this machine alone]."),
]


@dataclass(frozen=True)
class Place:
    """Where pieces of work are done, as the options say it."""

    on: str | None = None
    address: str | None = None
    at_once: int = 1

    def __post_init__(self) -> None:
        """Refuse options that say nothing."""
        if self.on not in (None, RAY):
            raise InputError(f"--on is {self.on!r}{nearest(self.on or '', [RAY])}; expected {RAY}")
        if self.on is None and self.address is not None:
            raise InputError(f"--ray-address is for --on {RAY}; give both, or leave it away")
        if self.at_once != 1 and self.on is not None:
            raise InputError(f"--at-once is for work without Ray; leave it or --on {RAY} away")
        if self.at_once < 1:
            raise InputError(f"--at-once is {self.at_once}; expected at least 1")

    @property
    def option(self) -> str | None:
        """What asks for several pieces at a time, where something does."""
        if self.on is not None:
            return f"--on {self.on}"
        return f"--at-once {self.at_once}" if self.at_once > 1 else None

    def adjust(self, engine: EngineSection) -> EngineSection:
        """How one piece of work is computed: on Ray by one core, unless more are asked for.

        The device is decided here and now, since a worker sees no GPU but the one it is given.
        Several at a time here share the cores.
        """
        from tiercut.engines.build import find_settings

        if self.option is None:
            return engine
        if self.on is None:
            share = max(1, (os.cpu_count() or 1) // self.at_once)
            return engine.model_copy(update={"threads": engine.threads or share})
        device = find_settings(engine).device
        if device.index is not None:
            raise InputError(
                f"device is {str(device)!r}, and Ray chooses the GPU of a worker; use cuda"
            )
        return engine.model_copy(update={"device": device.type, "threads": engine.threads or 1})

    @contextmanager
    def workers(self, engine: EngineSection) -> Iterator[Workers]:
        """Who does the work, for as long as it takes; `engine` is adjusted."""
        if self.on is None:
            from tiercut.cluster.beside import Beside
            from tiercut.cluster.workers import Alone

            yield Beside(self.at_once) if self.at_once > 1 else Alone()
            return
        from tiercut.cluster.connect import connected
        from tiercut.cluster.spread import Spread

        with ExitStack() as stack:
            with counting("reaching Ray"):
                stack.enter_context(connected(self.address))
            yield Spread(cpus=engine.threads or 1, gpus=int(engine.device == "cuda"))
