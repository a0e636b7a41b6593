"""What the training loop does, in the server's log."""

from __future__ import annotations

from tiercut.net.logs import Log
from tiercut.plan.replan import Replanned
from tiercut.train.observer import Observer, Start
from tiercut.train.record import Record


class Logbook(Observer):
    """Writes a line for everything that happens to the rounds of a run."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def on_warning(self, message: str) -> None:
        """See Observer."""
        self._log.warn("warning", reason=message)

    def on_start(self, start: Start) -> None:
        """See Observer."""
        self._log("training", folder=str(start.folder), done=start.done, rounds=start.rounds)

    def on_replan(self, number: int, replanned: Replanned) -> None:
        """See Observer."""
        self._log(
            "planned again",
            round=number,
            left=list(replanned.left),
            joined=list(replanned.joined),
            predicted=replanned.new.seconds.round,
            kept=replanned.kept.seconds.round,
        )

    def on_restart(self, number: int, reason: str) -> None:
        """See Observer."""
        self._log.warn("round starts again", round=number, reason=reason)

    def on_round(self, record: Record) -> None:
        """See Observer."""
        real = None if record.real is None else record.real.model_dump(mode="json")
        self._log(
            "round over",
            round=record.round,
            accuracy=record.accuracy,
            clients=record.clients,
            lost=record.lost,
            **(real or {}),
        )
