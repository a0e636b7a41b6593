"""Engine `net`: the nodes of the reference engine on real devices, as training sees them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from tiercut.engines.common import CommonModel
from tiercut.engines.task import Brief, OnEpoch, Round, State, Trained, quiet
from tiercut.fleet import Between, Fleet
from tiercut.net.crew import Crew
from tiercut.net.letters import DTYPE
from tiercut.net.logs import Log
from tiercut.net.rounds import Rounds
from tiercut.net.workshop import Workshop

T = TypeVar("T")


class LoopThread:
    """An event loop on a thread of its own, for a program that is not written for one."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="net", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something there and wait for it; if the waiting is interrupted, it is given up."""
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """End the loop and all that still runs there."""
        self.run(_end_all())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


async def _end_all() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


class Networked:
    """Trains round after round on the devices that are connected; see train.live.Live."""

    def __init__(
        self,
        task: Brief,
        fleet: Fleet,
        crew: Crew,
        thread: LoopThread,
        workshop: Workshop,
        log: Log,
        patience: float,
    ) -> None:
        self._task, self._whole, self._crew, self._thread = task, fleet, crew, thread
        self._log = log
        self.common = CommonModel(task, DTYPE)
        self.steps = [0] * len(task.clients)
        self.rounds = Rounds(task, self.common, crew, workshop, log, patience)
        self._last: tuple[object, Fleet] | None = None

    def fleet(self) -> Fleet:
        """See Live."""
        return self._thread.run(self._fleet())

    async def _fleet(self) -> Fleet:
        names = self._task.clients
        if not self._here():
            self.rounds.readmit()
        if not self._here():
            self._log.warn("waiting", reason="no device is connected")
            await self._crew.wait_until(self._here)
        here, broken = tuple(self._here()), self.rounds.broken
        if self._last is None or self._last[0] != (here, broken):
            everybody = len(here) == len(names) and not broken
            fleet = self._whole if everybody else _part(self._whole, here, broken)
            self._last = ((here, broken), fleet)
        return self._last[1]

    def _here(self) -> list[str]:
        joined = set(self._crew.joined()) - self.rounds.left_out.keys()
        return [name for name in self._whole.names if name in joined]

    def run_round(self, plan: Round, on_epoch: OnEpoch = quiet) -> Trained:
        """See Engine; RoundLost where it has to start again."""
        trained = self._thread.run(self.rounds.run(plan, self.steps, on_epoch))
        for n, turn in self.rounds.server.schedule.turns.items():
            self.steps[n] = turn.steps.stop
        return trained

    def weights(self) -> dict[str, Tensor]:
        """See Engine."""
        return self.common.weights()

    def to_state(self) -> State:
        """See Engine; the devices keep their optimisers' state themselves."""
        state = self.common.to_state()
        state["steps"] = torch.tensor(self.steps)
        for key, value in self.rounds.server.moments():
            state[f"moment/server/-1/{key}"] = value
        return state

    def load_state(self, state: State) -> None:
        """See Engine."""
        self.common.load_state(state)
        self.steps = [int(step) for step in state["steps"]]
        for key in (key for key in state if key.startswith("moment/")):
            place = key.split("/", 3)[3]
            self.rounds.server.load_moment(place, state[key], self.common.prototypes)


def _part(fleet: Fleet, names: tuple[str, ...], broken: frozenset[frozenset[str]]) -> Fleet:
    """Those of a fleet who are there, without the links that are broken."""
    position = {name: n for n, name in enumerate(fleet.names)}
    part = fleet.subset(np.array([position[name] for name in names]))
    if not isinstance(part.links, Between):
        return part
    rates = part.links.rates.copy()
    place = {name: n for n, name in enumerate(names)}
    for pair in broken:
        n, m = sorted(pair)
        if n in place and m in place:
            rates[place[n], place[m]] = rates[place[m], place[n]] = 0.0
    return Fleet(
        part.names,
        part.throughput,
        part.examples,
        part.server_throughput,
        part.to_server,
        Between(rates),
    )
