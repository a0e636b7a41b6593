"""Weights & Biases: a run in the project `tiercut`; WANDB_MODE=offline keeps it on this machine."""

from __future__ import annotations

from typing import Any

from tiercut.train.observer import Observer, Start
from tiercut.train.record import Record
from tiercut.train.trackers.metrics import metrics_of

PROJECT = "tiercut"


class Wandb(Observer):
    """Logs the manifest as configuration, and every round's numbers."""

    def __init__(self, package: Any) -> None:
        self._package = package
        self._run: Any = None

    def on_start(self, start: Start) -> None:
        """See Observer."""
        self._run = self._package.init(
            project=PROJECT,
            id=start.manifest["id"],  # so that a resumed run is the same one
            resume="allow",
            name=start.folder.name,
            dir=str(start.folder),
            config=start.manifest,
        )

    def on_round(self, record: Record) -> None:
        """See Observer."""
        self._run.log(metrics_of(record), step=record.round)

    def on_end(self) -> None:
        """See Observer."""
        self._run.finish()
