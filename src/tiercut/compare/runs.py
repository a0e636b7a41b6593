"""The runs of a comparison, one after another; after each there is a summary of what there is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from tiercut.compare.comparison import Comparison, Job, job_folder
from tiercut.compare.watcher import Watcher
from tiercut.documents import to_json, write_text
from tiercut.errors import TiercutError
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
) -> Outcome:
    """Train every run that is not finished, from its start or its last checkpoint.

    `manifest` is what `check_comparison` gave. A run that fails does not keep the others back.
    """
    told = watcher or Watcher()
    write_text(manifest_path(folder), to_json(manifest.model_dump(mode="json")))
    summary = write_summary(folder)
    told.on_jobs(comparison.jobs)
    failures = []
    for job in comparison.jobs:
        target = job_folder(folder, job)
        if not _is_finished(target, job.rounds):
            problem = _train(comparison, job, target, manifest.command, told)
            summary = write_summary(folder)
            if problem is not None:
                told.on_failed(job, problem)
                failures.append(f"{job}: {problem}")
                continue
        told.on_finished(job, read_points(target.rounds)[job.rounds - 1].accuracy)
        if drop_checkpoints:
            _drop_checkpoints(target)
    return Outcome(summary, tuple(failures))


def _train(
    comparison: Comparison, job: Job, target: RunFolder, command: Sequence[str], told: Watcher
) -> str | None:
    """Train a run to its end, or say why it did not get there."""
    try:
        setting = comparison.setting(job)
        run(setting, target.path, resume=True, command=command, observers=[told.watch(job)])
    except TiercutError as problem:
        return str(problem)
    return None


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
