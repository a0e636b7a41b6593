"""The runs of a comparison; after each there is a summary of what there is."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from socket import gethostname
from typing import Any, Literal

from safetensors import SafetensorError, safe_open

from tiercut.cluster.workers import Alone, Ended, Workers
from tiercut.compare.comparison import Comparison, Job, job_folder
from tiercut.compare.messenger import Message, Messenger
from tiercut.compare.watcher import Watcher
from tiercut.documents import to_json, write_text
from tiercut.errors import InputError
from tiercut.measure.manifest import Manifest, manifest_path
from tiercut.measure.points import read_points
from tiercut.measure.results import is_over
from tiercut.measure.summary import write_summary
from tiercut.train.checkpoint import KEY, checkpoints
from tiercut.train.folder import RunFolder
from tiercut.train.loop import run

Keep = Literal["states", "weights", "rounds"]
"""What is left of a run that is finished: all of it, no states, or no weights either."""


@dataclass(frozen=True)
class Outcome:
    """What a comparison came to."""

    summary: dict[str, Any]
    failures: tuple[str, ...]
    """A sentence for every run that did not get to its end."""


@dataclass(frozen=True, eq=False)
class Part:
    """A comparison that is trained, perhaps beside others."""

    comparison: Comparison
    folder: Path
    manifest: Manifest
    """What `check_comparison` gave."""


def run_comparison(
    comparison: Comparison,
    folder: Path,
    manifest: Manifest,
    *,
    keep: Keep = "states",
    watcher: Watcher | None = None,
    workers: Workers | None = None,
) -> Outcome:
    """Train every run that is not finished, from its start or its last checkpoint.

    A run that fails does not keep the others back.
    """
    part = Part(comparison, folder, manifest)
    (outcome,) = run_comparisons([part], keep=keep, watcher=watcher, workers=workers)
    return outcome


def run_comparisons(
    parts: Sequence[Part],
    *,
    keep: Keep = "states",
    watcher: Watcher | None = None,
    workers: Workers | None = None,
) -> list[Outcome]:
    """Several comparisons with different labels as if they were one, so that nobody waits."""
    told = watcher or Watcher()
    of = {job: part for part in parts for job in part.comparison.jobs}
    summaries = {}
    for part in parts:
        write_text(manifest_path(part.folder), to_json(part.manifest.model_dump(mode="json")))
        summaries[part] = write_summary(part.folder)
    told.on_jobs(list(of))

    def conclude(job: Job) -> None:
        target = job_folder(of[job].folder, job)
        told.on_finished(job, read_points(target.rounds)[: job.rounds][-1])
        _lighten(target, keep)

    unfinished = [job for job, part in of.items() if not _is_finished(part, job, keep)]
    for job in of:
        if job not in unfinished:
            conclude(job)
    failures = {}
    by_label = {part.comparison.label: part for part in parts}
    with closing(_train_all(by_label, unfinished, told, workers or Alone())) as ends:
        for ended in ends:
            part = of[ended.item]
            summaries[part] = write_summary(part.folder)
            if ended.problem is None:
                conclude(ended.item)
            else:
                told.on_failed(ended.item, str(ended.problem))
                failures[ended.item] = f"{ended.item}: {ended.problem}"
    return [
        Outcome(summary, tuple(failures[job] for job in part.comparison.jobs if job in failures))
        for part, summary in summaries.items()
    ]


Parts = Mapping[str, Part]
"""By the label of their comparisons."""


def _train_all(
    parts: Parts, jobs: Sequence[Job], told: Watcher, workers: Workers
) -> Generator[Ended[Job, None], None, None]:
    """The runs as they end; whoever watches hears of them meanwhile."""
    observers = {job: told.watch(job) for job in jobs}

    def hear(job: Job, message: Message) -> None:
        message(observers[job])

    return workers.do(train, parts, jobs, hear=hear, on_lost=told.on_lost)


def train(parts: Parts, job: Job, say: Callable[[Message], None]) -> None:
    """Train a run to its end, from where it stands."""
    part = parts[job.label]
    if not manifest_path(part.folder).exists():
        raise InputError(
            f"{gethostname()} does not see {part.folder}; the machines of a cluster must share"
            f" the file system that the comparison is on"
        )
    setting, target = part.comparison.setting(job), job_folder(part.folder, job)
    command, observers = part.manifest.command, [Messenger(say)]
    until = part.comparison.until
    run(setting, target.path, resume=True, command=command, observers=observers, until=until)


def _is_finished(part: Part, job: Job, keep: Keep) -> bool:
    """Whether a run is over, and has its weights where they are kept."""
    points = read_points(job_folder(part.folder, job).rounds)
    if not is_over(points, job.rounds, part.comparison.until):
        return False
    wanted = min(len(points), job.rounds)
    return keep == "rounds" or _trained_for(job_folder(part.folder, job)) >= wanted


def _trained_for(target: RunFolder) -> int:
    """The rounds of a run's weights; its states, which are large, stay unread."""
    try:
        with safe_open(target.model, "pt") as file:
            return int(json.loads((file.metadata() or {}).get(KEY, "{}")).get("round", 0))
    except (OSError, SafetensorError, ValueError):
        return 0


def _lighten(target: RunFolder, keep: Keep) -> None:
    if keep != "states":
        for path in checkpoints(target.checkpoints):
            path.unlink()
    if keep == "rounds":
        shutil.rmtree(target.checkpoints, ignore_errors=True)
        for path in (target.model, target.lock):
            path.unlink(missing_ok=True)
