"""A run on real devices: gather them, measure them, and train with whoever is there."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tiercut import __version__
from tiercut.data import Dataset
from tiercut.data.progress import Progress, silent
from tiercut.documents import to_json, write_text
from tiercut.engines.task import RemoteTask
from tiercut.errors import InputError
from tiercut.fleet import Fleet, read_fleet
from tiercut.models.profile import Profile, read_profile
from tiercut.models.trace import trace
from tiercut.net.engine import LoopThread, Networked
from tiercut.net.job import make_job
from tiercut.net.logbook import Logbook
from tiercut.net.logs import Level, Log
from tiercut.net.reception import Reception
from tiercut.net.standing import devices_now
from tiercut.net.status import State, Status
from tiercut.net.streams import Security
from tiercut.net.survey import DeviceLost, survey
from tiercut.net.tally import Tally
from tiercut.net.throughput import Timing, as_timed, measure_throughput
from tiercut.net.workshop import Workshop
from tiercut.scenario import Scenario
from tiercut.schemes import Scheme
from tiercut.train.folder import RunFolder
from tiercut.train.loop import Summary, run
from tiercut.train.observer import Observer
from tiercut.train.setting import (
    Setting,
    agreed_terms,
    build_planner,
    examples_of,
    reachable,
)

PATIENCE = 4.0
"""How many times as long as predicted a phase of a round may take."""
GATHERING = 30.0
"""Seconds that a run which is resumed waits for all its devices before it goes on with some."""


@dataclass(frozen=True, eq=False)
class Venture:
    """What a server is to train, and with how many."""

    scenario: Scenario
    scheme: Scheme
    solver: str
    data: Dataset
    clients: int
    patience: float = PATIENCE
    fleet: Fleet | None = None
    """Where it is known already, from a file."""


class Site:
    """A server and its devices, for one run."""

    def __init__(self, venture: Venture, security: Security, log: Log) -> None:
        engine = venture.scenario.engine.model_copy(update={"name": "net"})
        scenario = venture.scenario.model_copy(update={"engine": reachable(engine)})
        self._venture = replace(venture, scenario=scenario)
        self._log, self._thread = log, LoopThread()
        self._job = make_job(scenario, venture.scheme, venture.data)
        self._security = security
        self._engine: Networked | None = None
        self.state: State = "gathering"
        self._tally = Tally()

    @contextmanager
    def open_at(self, listen: str) -> Iterator[str]:
        """Let devices come in; the address where is given. At the end they are sent home.

        When something goes wrong here they are not: they wait for the server to come back.
        """

        async def start() -> str:
            self._reception = Reception(self._security, self._job, self._log, self.status)
            self._workshop = Workshop(self._on_failure)
            return await self._reception.start(listen)

        farewell = None
        try:
            address = self._thread.run(start())
            self._log("listening", address=address, scenario=self._venture.scenario.name)
            yield address
            farewell = "training is over"
        except BaseException as problem:
            level: Level = "error" if isinstance(problem, Exception) else "info"
            self._log("stopped", level, reason=str(problem) or type(problem).__name__)
            raise
        finally:
            self._thread.run(self._reception.stop(farewell))
            self._workshop.close()
            self._thread.close()

    def _on_failure(self, problem: BaseException) -> None:
        self._log("work failed", "error", reason=f"{type(problem).__name__}: {problem}")
        if self._engine is not None and self._engine.rounds.attempt is not None:
            self._engine.rounds.attempt.give_up(f"{type(problem).__name__}: {problem}")

    def status(self) -> Mapping[str, Any]:
        """How things stand, as JSON; see Status. On the event loop."""
        return self._status().model_dump(mode="json")

    def ask_status(self) -> Status:
        """How things stand, from any other thread."""

        async def ask() -> Status:
            return self._status()

        return self._thread.run(ask())

    def _status(self) -> Status:
        venture, reception, tally = self._venture, self._reception, self._tally
        rounds = None if self._engine is None else self._engine.rounds
        attempt = None if rounds is None else rounds.attempt
        return Status(
            tiercut=__version__,
            scenario=venture.scenario.name,
            scheme=venture.scheme.name,
            state=self.state,
            expected=venture.clients,
            rounds=venture.scenario.training.rounds,
            done=tally.done,
            round=None if attempt is None else attempt.tag[0] + 1,
            epochs=venture.scenario.training.epochs,
            epoch=None if attempt is None else attempt.epochs,
            last=tally.last_round,
            devices=devices_now(reception.crew, reception.roster or (), attempt),
            trained=tally.trained,
            restarts=tally.restarts,
            bytes=tally.bytes,
            losses={} if rounds is None else dict(rounds.losses),
            refusals=dict(reception.refusals),
        )

    # ------------------------------------------------------------------------------------ the run

    def train(
        self,
        path: Path,
        *,
        resume: bool,
        overwrite: bool,
        command: Sequence[str],
        observers: Sequence[Observer],
        progress: Progress = silent,
    ) -> Summary:
        """Gather the devices, and train all rounds or the rest of them."""
        folder = RunFolder(path)
        folder.refuse_second(resume=resume, overwrite=overwrite)
        fleet = read_fleet(folder.fleet) if resume and folder.fleet.exists() else None
        fleet = self._thread.run(self._gather(fleet, progress))
        if not (resume and folder.fleet.exists()):
            write_text(folder.profile, to_json(self._profile.to_dict()))
            write_text(folder.fleet, to_json(fleet.to_dict()))
        setting = self._setting(fleet, read_profile(folder.profile))
        self._engine = Networked(
            setting.task,
            fleet,
            self._reception.crew,
            self._thread,
            self._workshop,
            self._log,
            self._venture.patience,
        )
        self._reception.roster = dict(zip(fleet.names, setting.task.counts, strict=True))
        self._reception.listener = self._engine.rounds
        self.state = "training"
        try:
            return run(
                setting,
                path,
                resume=resume,
                overwrite=overwrite,
                command=command,
                observers=[self._tally, Logbook(self._log), *observers],
                live=self._engine,
            )
        finally:
            self.state = "over"

    async def _gather(self, known: Fleet | None, progress: Progress) -> Fleet:
        crew, wanted = self._reception.crew, self._venture.clients
        if known is not None:
            self._reception.roster = dict(zip(known.names, known.examples.tolist(), strict=True))
            await self._wait_for_all_or_some(known.names)
            return known
        while True:
            await crew.wait_until(lambda: len(crew.joined()) >= wanted)
            names = crew.joined()[:wanted]
            self.state = "measuring"
            try:
                timing = await self._workshop.do(self._time_layers)
                fleet = await survey(crew, names, timing.throughput, progress)
            except DeviceLost as lost:
                self._log.warn("measured again", reason=f"{lost} went away meanwhile")
                self.state = "gathering"
                continue
            self._log("measured", fleet=fleet.to_dict())
            return self._as_known(fleet)

    def _as_known(self, measured: Fleet) -> Fleet:
        """A fleet from a file, with the examples that there really are."""
        file = self._venture.fleet
        if file is None:
            return measured
        if set(file.names) != set(measured.names):
            strangers = sorted(set(measured.names) - set(file.names))
            raise InputError(
                f"the fleet's file knows no device called {strangers[0]!r}; name its clients as the"
                f" devices' certificates do, or leave [fleet] file out"
            )
        counts = dict(zip(measured.names, measured.examples.tolist(), strict=True))
        examples = measured.examples.copy()
        examples[:] = [counts[name] for name in file.names]
        return replace(file, examples=examples)

    async def _wait_for_all_or_some(self, names: Sequence[str]) -> None:
        crew = self._reception.crew
        try:
            async with asyncio.timeout(GATHERING):
                await crew.wait_until(lambda: set(names) <= set(crew.joined()))
        except TimeoutError:
            missing = sorted(set(names) - set(crew.joined()))
            self._log.warn("going on without", devices=missing)

    def _time_layers(self) -> Timing:
        """How fast the server itself computes, and which layers take how much of the time."""
        terms = agreed_terms(self._venture.scenario, self._venture.scheme, self._venture.data)
        model, batch, optimiser = terms["model"], terms["batch"], terms["optimiser"]
        counted, given = trace(model), self._venture.scenario.model.profile
        timing = measure_throughput(model, counted, batch, optimiser)
        self._profile = as_timed(counted, timing) if given is None else read_profile(given)
        return timing

    def _setting(self, fleet: Fleet, profile: Profile) -> Setting:
        venture = self._venture
        task = RemoteTask(
            **agreed_terms(venture.scenario, venture.scheme, venture.data),
            clients=fleet.names,
            held=tuple(fleet.examples.tolist()),
        )
        planner = build_planner(venture.scenario, task, venture.solver)
        planner = replace(planner, work=replace(planner.work, profile=profile))
        test = examples_of(venture.data, venture.data.test)
        return Setting(venture.scenario, task, test, fleet, planner)
