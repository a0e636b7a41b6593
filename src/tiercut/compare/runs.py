"""The runs of a comparison; after each there is a summary of what there is."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from socket import gethostname
from typing import Any

from safetensors import SafetensorError, safe_open

from tiercut.cluster.workers import Alone, Ended, Workers
from tiercut.compare.comparison import Comparison, Job, job_folder
from tiercut.compare.messenger import Message, Messenger
from tiercut.compare.watcher import Watcher
from tiercut.documents import to_json, write_text
from tiercut.errors import InputError
from tiercut.measure.manifest import Manifest, manifest_path
from tiercut.measure.points import read_points
from tiercut.measure.summary import write_summary
from tiercut.train.checkpoint import KEY, checkpoints
from tiercut.train.folder import RunFolder
from tiercut.train.loop import run


@dataclass(frozen=True)
class Outcome:
    """What a comparison came to."""

    summary: dict[str, Any]
    failures: tuple[str, ...]
    """A sentence for every run that did not get to its end."""


def run_comparison(
    comparison: Comparison,
    folder: Path,
    manifest: Manifest,
    *,
    drop_checkpoints: bool = False,
    watcher: Watcher | None = None,
    workers: Workers | None = None,
) -> Outcome:
    """Train every run that is not finished, from its start or its last checkpoint.

    `manifest` is what `check_comparison` gave. A run that fails does not keep the others back.
    """
    told = watcher or Watcher()
    write_text(manifest_path(folder), to_json(manifest.model_dump(mode="json")))
    summary = write_summary(folder)
    jobs = comparison.jobs
    told.on_jobs(jobs)

    def conclude(job: Job) -> None:
        target = job_folder(folder, job)
        told.on_finished(job, read_points(target.rounds)[job.rounds - 1].accuracy)
        if drop_checkpoints:
            _drop_checkpoints(target)

    unfinished = [job for job in jobs if not _is_finished(job_folder(folder, job), job.rounds)]
    for job in jobs:
        if job not in unfinished:
            conclude(job)
    failures = {}
    order = Order(comparison, folder, manifest.command)
    with closing(_train_all(order, unfinished, told, workers or Alone())) as ends:
        for ended in ends:
            summary = write_summary(folder)
            if ended.problem is None:
                conclude(ended.item)
            else:
                told.on_failed(ended.item, str(ended.problem))
                failures[ended.item] = f"{ended.item}: {ended.problem}"
    return Outcome(summary, tuple(failures[job] for job in jobs if job in failures))


@dataclass(frozen=True, eq=False)
class Order:
    """What is common to the runs of a comparison."""

    comparison: Comparison
    folder: Path
    command: tuple[str, ...]


def _train_all(
    order: Order, jobs: Sequence[Job], told: Watcher, workers: Workers
) -> Generator[Ended[Job, None], None, None]:
    """The runs as they end; whoever watches hears of them meanwhile."""
    observers = {job: told.watch(job) for job in jobs}

    def hear(job: Job, message: Message) -> None:
        message(observers[job])

    return workers.do(train, order, jobs, hear=hear, on_lost=told.on_lost)


def train(order: Order, job: Job, say: Callable[[Message], None]) -> None:
    """Train a run to its end, from where it stands."""
    if not manifest_path(order.folder).exists():
        raise InputError(
            f"{gethostname()} does not see {order.folder}; the machines of a cluster must share"
            f" the file system that the comparison is on"
        )
    setting, target = order.comparison.setting(job), job_folder(order.folder, job)
    run(setting, target.path, resume=True, command=order.command, observers=[Messenger(say)])


def _is_finished(target: RunFolder, rounds: int) -> bool:
    """Whether a run has its rounds and its weights; its states, which are large, stay unread."""
    try:
        with safe_open(target.model, "pt") as file:
            about = json.loads((file.metadata() or {}).get(KEY, "{}"))
    except (OSError, SafetensorError, ValueError):
        return False
    return about.get("round", 0) >= rounds and len(read_points(target.rounds)) >= rounds


def _drop_checkpoints(target: RunFolder) -> None:
    for path in checkpoints(target.checkpoints):
        path.unlink()
