"""Who is told how the runs of a comparison get on."""

from __future__ import annotations

from collections.abc import Sequence

from tiercut.compare.comparison import Job
from tiercut.measure.points import Point
from tiercut.train.observer import Observer


class Watcher:
    """Takes no note of anything; override what is of interest."""

    def on_jobs(self, jobs: Sequence[Job]) -> None:
        """These are the runs there will be."""

    def watch(self, job: Job) -> Observer:
        """Who is told what happens in a run that is about to train."""
        return Observer()

    def on_lost(self, job: Job, message: str) -> None:
        """A run's worker was lost; another goes on from its last checkpoint."""

    def on_finished(self, job: Job, last: Point) -> None:
        """A run is over, now or from before; this is its last round."""

    def on_failed(self, job: Job, message: str) -> None:
        """A run stopped before its end; the others go on."""
