"""TensorBoard: curves beside the run, `tensorboard --logdir runs`."""

from __future__ import annotations

from typing import Any

from tiercut.train.observer import Observer, Start
from tiercut.train.record import Record
from tiercut.train.trackers.metrics import metrics_of


class Tensorboard(Observer):
    """Writes into the folder `tensorboard` of a run."""

    def __init__(self, package: Any) -> None:
        self._package = package
        self._writer: Any = None

    def on_start(self, start: Start) -> None:
        """Curves of a resumed run go on where it does; what was beyond is hidden."""
        self._writer = self._package.SummaryWriter(
            str(start.folder / "tensorboard"), purge_step=start.done + 1
        )

    def on_round(self, record: Record) -> None:
        """See Observer."""
        for name, value in metrics_of(record).items():
            self._writer.add_scalar(name, value, record.round)
        self._writer.flush()

    def on_end(self) -> None:
        """See Observer."""
        self._writer.close()
