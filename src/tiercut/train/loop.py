"""The rounds, one after another: plan, train, measure, record, save."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from tiercut.documents import to_json, write_text
from tiercut.engines.build import Engine, build_engine
from tiercut.engines.judge import Judge, Score
from tiercut.engines.task import Measured, RoundLost, Trained
from tiercut.errors import InputError
from tiercut.plan.plan import Plan
from tiercut.plan.replan import Replanned
from tiercut.train.checkpoint import Header, packed, save_checkpoint, save_tensors
from tiercut.train.course import Course, Leg
from tiercut.train.folder import RunFolder, Stand, find_stand, prepare
from tiercut.train.identity import fingerprint
from tiercut.train.journal import Journal, read_records
from tiercut.train.live import Live, compare_real
from tiercut.train.observer import Everybody, Observer, Start
from tiercut.train.record import Record
from tiercut.train.room import enough_memory
from tiercut.train.setting import Setting


@dataclass(frozen=True)
class Summary:
    """What a run came to."""

    folder: Path
    rounds: int
    new_rounds: int
    """Those that were trained now."""
    accuracy: float
    best_accuracy: float
    best_round: int
    seconds: float
    """On the virtual clock."""
    bytes: float

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {"version": 1, **vars(self), "folder": str(self.folder)}


@enough_memory()
def run(
    setting: Setting,
    path: Path,
    *,
    resume: bool = False,
    overwrite: bool = False,
    command: Sequence[str] = (),
    observers: Sequence[Observer] = (),
    live: Live | None = None,
    until: float | None = None,
) -> Summary:
    """Train all rounds that the setting asks for, or the rest of them, into a folder.

    By an engine that simulates, or by real devices where `live` is given. A run ends early with the
    first round that has an accuracy of `until`.
    """
    told, folder = Everybody(tuple(observers)), RunFolder(path)
    stand = find_stand(
        folder, setting, command, resume=resume, overwrite=overwrite, warn=told.on_warning
    )
    rounds = setting.scenario.training.rounds
    if resume and folder.finished_rounds >= rounds:
        return _summarise(folder, read_records(folder.rounds)[: folder.finished_rounds], new=0)
    training = _Training(setting, stand, live)
    stand = replace(stand, state=None)  # the engine has it now
    with folder.locked():
        prepare(folder, stand)
        training.write_plan(folder)
        start = Start(path, stand.done, rounds, setting.task.epochs, stand.manifest, stand.records)
        try:
            told.on_start(start)
            records = list(stand.records)
            with Journal(folder.rounds) as journal:
                while len(records) < rounds and not _is_there(records, until):
                    records.append(training.run_round(len(records) + 1, folder, journal, told))
            training.write_model(folder, len(records))
        finally:
            told.on_end()
    return _summarise(folder, records, len(records) - stand.done)


def _is_there(records: Sequence[Record], until: float | None) -> bool:
    return until is not None and any(record.accuracy >= until for record in records)


def _summarise(folder: RunFolder, records: Sequence[Record], new: int) -> Summary:
    last, best = records[-1], max(records, key=lambda record: record.accuracy)
    return Summary(
        folder=folder.path,
        rounds=len(records),
        new_rounds=new,
        accuracy=last.accuracy,
        best_accuracy=best.accuracy,
        best_round=best.round,
        seconds=last.seconds,
        bytes=last.bytes,
    )


class _Training:
    """What changes from round to round."""

    def __init__(self, setting: Setting, stand: Stand, live: Live | None) -> None:
        section = setting.scenario.engine
        self._setting, self._identity, self._live = setting, fingerprint(setting), live
        self._engine: Engine = live or build_engine(section, setting.task)
        self._judge = Judge(setting.task, setting.test, setting.execution)
        self._seconds = self._bytes = 0.0
        self._new_plan: Plan | Replanned | None = None
        if stand.header is None:
            self._new_plan = setting.planner.first(setting.fleet)
            decision = setting.planner.decided(self._new_plan, setting.fleet)
        else:
            assert stand.state is not None
            decision = stand.header.plan
            self._seconds, self._bytes = stand.header.seconds, stand.header.bytes
            self._engine.load_state(stand.state)
        self._course = Course(setting, stand.done, decision)

    def run_round(self, number: int, folder: RunFolder, journal: Journal, told: Observer) -> Record:
        """Train round `number`, which counts from 1; when this returns, it is on the disk."""
        begin = time.perf_counter()
        attempts = 1
        while True:
            leg = self._plan(number, folder, told)
            before = time.perf_counter()
            try:
                trained = self._engine.run_round(leg.round, partial(told.on_epoch, number))
                break
            except RoundLost as lost:
                attempts += 1
                told.on_restart(number, str(lost))
        after = time.perf_counter()
        score = self._judge.score(self._engine.weights())
        _refuse_divergence(number, trained, score, self._setting.scenario.training.rate)
        self._seconds += leg.plan.seconds.round
        self._bytes += leg.plan.traffic.total
        record = Record(
            round=number,
            accuracy=score.accuracy,
            loss=score.loss,
            train_loss=trained.loss,
            local_loss=trained.local_loss,
            **_with_losses(leg.to_dict(), trained.measured),
            seconds=self._seconds,
            bytes=self._bytes,
            samples=trained.samples,
            wall_seconds=time.perf_counter() - begin,
            samples_per_second=trained.samples / (after - before),
            real=compare_real(leg.plan, trained.measured, attempts),
        )
        journal.append(record)
        self._save(number, folder)
        told.on_round(record)
        return record

    def _plan(self, number: int, folder: RunFolder, told: Observer) -> Leg:
        leg = self._course.leg(number, None if self._live is None else self._live.fleet())
        if leg.replanned is not None:
            self._new_plan = leg.replanned
            self.write_plan(folder)
            told.on_replan(number, leg.replanned)
        return leg

    def _save(self, number: int, folder: RunFolder) -> None:
        scenario = self._setting.scenario
        every = scenario.engine.checkpoint_every
        if not every or (number % every and number != scenario.training.rounds):
            return
        header = Header(
            round=number,
            seconds=self._seconds,
            bytes=self._bytes,
            identity=self._identity,
            engine=scenario.engine.name,
            plan=self._course.decision,
        )
        save_checkpoint(folder.checkpoints, header, self._engine.to_state())

    def write_plan(self, folder: RunFolder) -> None:
        """Write the plan in force, where it is a new one."""
        if self._new_plan is not None:
            names = list(self._course.fleet.names)
            write_text(folder.plan, to_json({**self._new_plan.to_dict(), "clients": names}))

    def write_model(self, folder: RunFolder, rounds: int) -> None:
        """Write the weights, under the names that the model itself gives them."""
        about = {"version": 1, "model": self._setting.task.model.name, "round": rounds}
        save_tensors(folder.model, packed(self._engine.weights()), about)


def _with_losses(entry: dict[str, Any], measured: Measured | None) -> dict[str, Any]:
    """A round's record with those who were really lost."""
    return entry if measured is None else {**entry, "lost": measured.lost}


def _refuse_divergence(number: int, trained: Trained, score: Score, rate: float) -> None:
    losses = (trained.loss, trained.local_loss or 0.0, score.loss)
    if not all(map(math.isfinite, losses)):
        raise InputError(
            f"training diverged in round {number}: its loss is no longer a finite number; lower"
            f" rate in [training], which is {rate:g}; the rounds before are kept"
        )
