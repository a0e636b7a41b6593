"""What would stop a comparison later stops it before anything is trained or written."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from pydantic import ConfigDict

from tiercut import __version__
from tiercut.compare.comparison import Comparison, Job, job_folder
from tiercut.data import Load, remembering
from tiercut.documents import Document, check, check_version, read_json
from tiercut.engines.build import find_executor
from tiercut.errors import InputError
from tiercut.measure.manifest import Manifest, manifest_path, read_manifest
from tiercut.train.folder import RunFolder
from tiercut.train.identity import check_identity
from tiercut.train.setting import Setting


class Origin(Document):
    """What a run was started from, as its manifest says it."""

    model_config = ConfigDict(extra="ignore")

    scenario: dict[str, Any]
    inputs: dict[str, str]


def check_comparison(
    comparison: Comparison,
    folder: Path,
    *,
    targets: Sequence[float] | None = None,
    command: Sequence[str] = (),
    load: Load | None = None,
) -> Manifest:
    """The manifest of a comparison that may start or go on in a folder; writes nothing."""
    load = load or remembering()
    _refuse_fewer(comparison, folder)
    first, *others = comparison.jobs
    setting = _check_job(comparison, folder, first, load)
    manifest = Manifest(
        tiercut=__version__,
        torch=torch.__version__,
        python=platform.python_version(),
        device=str(setting.execution.device),
        command=tuple(command),
        scenario=comparison.scenario,
        schemes=tuple(comparison.schemes),
        titles={name: scheme.cost.title for name, scheme in comparison.schemes.items()},
        seeds=comparison.seeds,
        clients=len(setting.fleet),
        overrides={scheme: dict(own) for scheme, own in comparison.overrides.items()},
        fixed=comparison.fixed,
        targets=None if targets is None else tuple(targets),
        until=comparison.until,
    )
    del setting  # it may hold data of its own, and only one of them has to fit into memory
    for job in others:
        # A scheme's other seeds differ in nothing that could be refused, unless they have begun.
        if job.seed == first.seed or job_folder(folder, job).manifest.exists():
            _check_job(comparison, folder, job, load)
    return manifest


def _refuse_fewer(comparison: Comparison, folder: Path) -> None:
    """A comparison may grow; what it has already stays in it."""
    if not manifest_path(folder).exists():
        return
    old = read_manifest(folder)
    dropped = [f"the scheme {name}" for name in old.schemes if name not in comparison.schemes]
    dropped += [f"seed {seed}" for seed in old.seeds if seed not in comparison.seeds]
    if dropped:
        raise InputError(
            f"{folder} compares {', '.join(old.schemes)} with seeds"
            f" {', '.join(map(str, old.seeds))}, and {dropped[0]} is not named now; name all that"
            f" it has, or give another folder with -o"
        )


def _check_job(comparison: Comparison, folder: Path, job: Job, load: Load) -> Setting:
    """The setting of a run, if it can be executed here and is what the run was started from."""
    setting, run = comparison.setting(job, load), job_folder(folder, job)
    try:
        setting.planner.check(setting.fleet)
    except InputError as problem:
        raise InputError(f"{job}: {problem}") from None
    engine = setting.scenario.engine
    if engine.name == "stacked":
        find_executor(engine.executor, setting.execution, setting.task)
    if run.manifest.exists():
        _refuse_another(setting, run)
    return setting


def _refuse_another(setting: Setting, run: RunFolder) -> None:
    source = str(run.manifest)
    data = read_json(run.manifest)
    check_version(data, source, "manifest")
    check_identity(check(Origin, data, source).model_dump(), setting, source)
