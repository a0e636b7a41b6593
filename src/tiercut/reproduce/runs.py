"""Training the runs of a study: the one module of this room that needs torch.

Only what can be read again is kept of a run: manifest, plan and rounds. States and weights, which
are gigabytes, go once it is finished.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from tiercut.cluster.workers import Workers
from tiercut.compare.check import check_comparison
from tiercut.compare.comparison import Comparison, Job
from tiercut.compare.runs import run_comparison
from tiercut.compare.watcher import Watcher
from tiercut.data import Load, load, remembering
from tiercut.data.progress import Progress, silent
from tiercut.documents import to_json, write_text
from tiercut.plan.problem import Problem, Wishes, all_cuts
from tiercut.plan.solve import solve
from tiercut.reproduce.decisions import wished_count
from tiercut.reproduce.stand import Wanted
from tiercut.reproduce.trained import MACHINE
from tiercut.train.setting import Setting


@dataclass(frozen=True, eq=False)
class Undertaking(Comparison):
    """A comparison in which shares of aggregators may be given."""

    shares: Mapping[str, float] = field(default_factory=dict)
    """Lambda by scheme."""

    def setting(self, job: Job, load: Load = load) -> Setting:
        """What a run starts from."""
        setting = super().setting(job, load)
        share = self.shares.get(job.scheme)
        return setting if share is None else _with_share(setting, share)


def _with_share(setting: Setting, share: float) -> Setting:
    """The same with the best plan for a share of aggregators."""
    planner, fleet = setting.planner, setting.fleet
    kept = planner.client_layers
    cuts = planner.cuts or all_cuts(planner.work.profile.depth, planner.scheme, kept)
    wishes = Wishes(aggregators=wished_count(share, len(fleet)))
    problem = Problem(fleet, planner.work, cuts, planner.cost, wishes, client_layers=kept)
    plan = solve(problem, planner.solver)
    return replace(setting, planner=replace(planner, given=planner.decided(plan, fleet)))


def train(
    wanted: Wanted,
    folder: Path,
    *,
    data_dir: Path | None = None,
    command: Sequence[str] = (),
    watcher: Watcher | None = None,
    workers: Workers | None = None,
    progress: Progress = silent,
) -> tuple[str, ...]:
    """Train what a folder lacks; gives a sentence for every run that failed."""
    study = wanted.study
    whole = Undertaking(
        scenario=wanted.scenario,
        specs=tuple(one.spec for one in study.contenders),
        seeds=tuple(wanted.seeds),
        overrides=wanted.overrides,
        fixed=study.fixed,
        data_dir=data_dir,
        shares=study.shares,
    )
    targets = study.targets or None
    manifest = check_comparison(
        whole, folder, targets=targets, command=command, load=remembering(progress)
    )
    write_text(folder / MACHINE, to_json(describe_machine(manifest.device)))
    outcome = run_comparison(
        whole, folder, manifest, keep="rounds", watcher=watcher, workers=workers
    )
    return outcome.failures


def has_gpu() -> bool:
    """Whether there is a GPU to train on."""
    return torch.cuda.is_available()


def describe_machine(device: str) -> dict[str, Any]:
    """What training runs on."""
    name = torch.cuda.get_device_name(device) if device.startswith("cuda") else "CPU"
    return {"accelerator": name, "platform": platform.platform(), "cpus": os.cpu_count()}
