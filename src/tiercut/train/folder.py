"""A run's folder: what is in it, and whether a run may start or go on there.

manifest.json        what was run, with what
plan.json            the plan in force
fleet.json           the devices as they were measured, where they were real
profile.json         the model's layers as they were timed, where devices were real
rounds.jsonl         the rounds' records
log.jsonl            what happened, where devices were real
checkpoints/         the newest states
model.safetensors    the weights at the end
"""

from __future__ import annotations

import fcntl
import json
import platform
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from tiercut import __version__
from tiercut.documents import check_version, read_json, to_json, write_text
from tiercut.errors import InputError
from tiercut.train.checkpoint import KEY, Header, checkpoints, read_checkpoint
from tiercut.train.identity import as_json, check_identity, digest, fingerprint, inputs_of
from tiercut.train.journal import read_records, write_records
from tiercut.train.record import Record
from tiercut.train.setting import Setting


@dataclass(frozen=True)
class RunFolder:
    """Where the files of a run are."""

    path: Path

    @property
    def manifest(self) -> Path:
        """What was run, with what."""
        return self.path / "manifest.json"

    @property
    def plan(self) -> Path:
        """The plan in force."""
        return self.path / "plan.json"

    @property
    def fleet(self) -> Path:
        """The devices as they were measured, where they were real."""
        return self.path / "fleet.json"

    @property
    def profile(self) -> Path:
        """The model's layers as they were timed, where devices were real."""
        return self.path / "profile.json"

    @property
    def log(self) -> Path:
        """What happened, where devices were real."""
        return self.path / "log.jsonl"

    @property
    def rounds(self) -> Path:
        """The rounds' records."""
        return self.path / "rounds.jsonl"

    @property
    def lock(self) -> Path:
        """Held by whoever trains it."""
        return self.path / ".lock"

    @property
    def checkpoints(self) -> Path:
        """Where the states are."""
        return self.path / "checkpoints"

    @property
    def model(self) -> Path:
        """The weights at the end."""
        return self.path / "model.safetensors"

    @property
    def finished_rounds(self) -> int:
        """The rounds of the run that ended here: what its weights say, if its records agree.

        States, which are large, stay unread.
        """
        try:
            with safe_open(self.model, "pt") as file:
                rounds = int(json.loads((file.metadata() or {})[KEY])["round"])
        except (OSError, SafetensorError, ValueError, KeyError, TypeError):
            return 0
        return min(rounds, len(read_records(self.rounds)))

    def refuse_second(self, *, resume: bool, overwrite: bool) -> None:
        """A folder that holds a run takes another only when told what to do with the first."""
        if self.manifest.exists() and not (resume or overwrite):
            raise InputError(
                f"{self.path} holds a run already; go on with it with --resume, replace it with"
                f" --overwrite, or give another folder with -o"
            )

    def clear(self) -> None:
        """Remove a run, states first: what is left of it can only start again."""
        states = self.checkpoints.glob("*.safetensors")  # and those that were never finished
        for path in (*states, self.model, self.rounds, self.plan, self.manifest):
            path.unlink(missing_ok=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from training here."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            with self.lock.open("w") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # gone with the process
                yield
        except BlockingIOError:
            raise InputError(
                f"{self.path}: another tiercut is training here; wait for it, or give another"
                f" folder with -o"
            ) from None


@dataclass(frozen=True, eq=False)
class Stand:
    """Where a run stands: nothing done, or a state to go on from."""

    manifest: dict[str, Any]
    records: tuple[Record, ...] = ()
    header: Header | None = None
    state: dict[str, Tensor] | None = None

    @property
    def done(self) -> int:
        """Rounds that need not be trained again."""
        return 0 if self.header is None else self.header.round


def find_stand(
    folder: RunFolder,
    setting: Setting,
    command: Sequence[str],
    *,
    resume: bool,
    overwrite: bool,
    warn: Callable[[str], None],
) -> Stand:
    """Where to start from; refuses what would mix two runs, and changes nothing yet."""
    folder.refuse_second(resume=resume, overwrite=overwrite)
    if resume and folder.manifest.exists():
        return _last_stand(folder, setting, command, warn)
    return Stand(_new_manifest(setting, command))


def _last_stand(
    folder: RunFolder, setting: Setting, command: Sequence[str], warn: Callable[[str], None]
) -> Stand:
    manifest = _read_manifest(folder.manifest)
    check_identity(manifest, setting, str(folder.manifest))
    found = _newest(folder, warn)
    done = 0 if found is None else found[0].round
    part = {"after_round": done, "command": [*command]}
    manifest = {**manifest, **_about(setting), "resumed": [*manifest.get("resumed", []), part]}
    if found is None:
        return Stand(manifest)
    if found[0].identity != fingerprint(setting):
        raise InputError(
            f"{folder.checkpoints}: the checkpoint of round {done} belongs to another run; remove"
            f" it, or start again with --overwrite"
        )
    records = read_records(folder.rounds)
    if len(records) < done:
        raise InputError(
            f"{folder.rounds}: the last record is of round {len(records)} and the checkpoint of"
            f" round {done}; put the file back, or start again with --overwrite"
        )
    return Stand(manifest, tuple(records[:done]), *found)


def _newest(
    folder: RunFolder, warn: Callable[[str], None]
) -> tuple[Header, dict[str, Tensor]] | None:
    """The newest checkpoint that can be read; none where a run did not get that far."""
    problems = []
    for path in checkpoints(folder.checkpoints):
        try:
            found = read_checkpoint(path)
        except InputError as problem:
            problems.append(str(problem))
            continue
        for said in problems:
            warn(f"{said}; going on from round {found[0].round} instead")
        return found
    if problems:
        raise InputError(f"{problems[0]}; there is no other to go on from: use --overwrite")
    return None


def _read_manifest(path: Path) -> dict[str, Any]:
    manifest = read_json(path)
    check_version(manifest, str(path), "manifest")
    missing = [key for key in ("scenario", "inputs") if not isinstance(manifest.get(key), dict)]
    if missing:
        raise InputError(f"{path}: {missing[0]} is missing; start again with --overwrite")
    return dict(manifest)


def _new_manifest(setting: Setting, command: Sequence[str]) -> dict[str, Any]:
    return {
        "version": 1,
        "id": uuid.uuid4().hex,
        **_about(setting),
        "inputs": inputs_of(setting),
        "command": [*command],
    }


def _about(setting: Setting) -> dict[str, Any]:
    """What a run is made of; a part of it that is resumed may be made of something newer."""
    scenario = setting.scenario
    as_read = as_json(scenario)
    return {
        "tiercut": __version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "seed": scenario.seed,
        "device": str(setting.execution.device),
        "engine": scenario.engine.name,
        "executor": scenario.engine.executor,
        "precision": scenario.engine.precision,
        "scheme": setting.task.scheme.name,
        "solver": setting.planner.solver,
        "scenario": as_read,
        "scenario_sha256": digest(to_json(as_read)),
    }


def prepare(folder: RunFolder, stand: Stand) -> None:
    """Make the folder hold what the stand says, and nothing beyond it."""
    if stand.header is None:
        folder.clear()
    folder.model.unlink(missing_ok=True)  # what an earlier, shorter run ended with
    write_text(folder.manifest, to_json(stand.manifest))
    write_records(folder.rounds, stand.records)
