"""The driver of engine `ray`: it tells workers what to train, and holds no replica.

What a round starts from is one object in the store. Between rounds a client's moments are on the
worker that trained it last; they are parked in the store when clients go elsewhere or stay out, and
for a checkpoint.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tiercut.cost import Placement
from tiercut.engines.executor import Factory, Settings
from tiercut.engines.feed import batch_sizes
from tiercut.engines.hosting import Hosting
from tiercut.engines.ray.crew import FAN_IN, Call, Crew, Ref, Worker, ask, combine, tell
from tiercut.engines.ray.keeping import Keeping
from tiercut.engines.ray.packing import Ints, pack
from tiercut.engines.ray.parcel import CPU, Parcel
from tiercut.engines.ray.parking import Parking
from tiercut.engines.ray.station import Orders
from tiercut.engines.stack import Stack
from tiercut.engines.task import OnEpoch, Round, State, Task, Trained, Whole, quiet
from tiercut.engines.tiers import Tiers
from tiercut.schemes import Part

NOBODY = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Squad:
    """A worker that takes part in a round, and its clients."""

    worker: Worker
    roster: Ints

    def is_same(self, other: Squad) -> bool:
        """Whether the same clients are in the same place."""
        return self.worker is other.worker and np.array_equal(self.roster, other.roster)


class Sharded:
    """Trains round after round from the task's initial weights."""

    def __init__(
        self,
        task: Task,
        settings: Settings,
        executor: Factory,
        crew: Crew,
        keeping: Keeping | None = None,
    ) -> None:
        self.task, self._crew, self._store = task, crew, crew.store
        self._keeping = keeping or Keeping()
        self._sizes = [batch_sizes(count, task.batch, task.portions) for count in task.counts]
        self._batches = np.array([len(each) for each in self._sizes])
        self._whole = Whole(NOBODY, len(self._sizes), int(self._batches.max()))
        base = task.part((), (), (), self._whole)
        # A stack without rows: the model, and the heads so far.
        self._model = Stack(base, CPU, settings.dtype, channels_last=False)
        self._start, self._before = self._put_start()
        self._hosting, self._parking = Hosting(len(self._sizes)), Parking(self._store)
        self._steps: Ints = np.zeros(len(self._sizes), dtype=np.int64)
        self._squads: list[Squad] = []
        """Those whose clients' moments are not parked."""
        self._begins: list[Call] = []
        """What began their round, but for the moments."""
        load = Call("load", (self._store.put(base), settings, executor))
        for worker in crew.workers:
            worker.history.clear()
        tell(crew.workers, [load] * len(crew.workers))

    # ------------------------------------------------------------------------------ the rounds

    def run_round(self, plan: Round, on_epoch: OnEpoch = quiet) -> Trained:
        """Train all epochs of a round, and start the next one from the average."""
        self._begin(plan)
        sums = np.zeros(2)
        for epoch, present in enumerate(plan.present):
            for batches in self._legs():
                sums += self._train(epoch, batches)
            self._keep()
            self._hosting.note_epoch(plan.index * self.task.epochs + epoch, present)
            on_epoch(epoch + 1)
        self._finish()
        attended = plan.present.sum(0)
        self._steps += attended * self._batches
        sizes = [times * each for times, each in zip(attended.tolist(), self._sizes, strict=True)]
        return Trained.over(self.task, np.concatenate(sizes).astype(np.int64), sums.tolist())

    # ------------------------------------------------------------------------------- beginning

    def _begin(self, plan: Round) -> None:
        tiers, squads = Tiers(self.task, plan), self._pack(plan)
        self._adopt_heads(tiers)
        several = tiers.several if self.task.outer_momentum else ()
        self._apart = self._model.parameters_of(several)
        sources = dict(self._hosting.move(tiers, self._model.layers))
        orders = [self._orders(plan, squad, alone=len(squads) == 1) for squad in squads]
        self._begins = [Call("begin", (each, self._start, self._before)) for each in orders]
        if self._stay(squads, sources):
            tell(self._workers, self._begins)
            return
        self._park()
        calls = [self._with_moments(*pair, sources) for pair in zip(orders, squads, strict=True)]
        self._parking.share(sources)
        for squad in squads:
            self._parking.let_go(squad.roster)
        self._squads = squads
        tell(self._workers, calls)
        self._keeping.restart()

    def _adopt_heads(self, tiers: Tiers) -> None:
        """Let rounds start from new heads too."""
        known = set(self._model.start)
        self._model.adopt_heads(tiers.layers)
        new = {key: value for key, value in self._model.start.items() if key not in known}
        if new:
            self._start = self._store.put(Parcel({**self._store.get(self._start), **new}))

    def _pack(self, plan: Round) -> list[Squad]:
        clients = np.flatnonzero(plan.present[0])
        work = self._batches[clients] * plan.present.sum(0)[clients]
        groups, workers = plan.placement.aggregator_of[clients], self._crew.workers
        rosters = pack(clients, groups, work, len(self.task.clients), len(workers))
        pairs = zip(workers, rosters, strict=True)
        return [Squad(worker, roster) for worker, roster in pairs if len(roster)]

    def _orders(self, plan: Round, squad: Squad, *, alone: bool) -> Orders:
        here, where, task = squad.roster, plan.placement, self.task
        placement = Placement(
            where.aggregator_layers[here], where.cut_layers[here], where.aggregator_of[here]
        )
        return Orders(
            clients=tuple(task.clients[n] for n in here),
            streams=tuple(task.sources[n] for n in here),
            shards=tuple(task.shards[n] for n in here),
            whole=replace(self._whole, numbers=here),
            round=Round(plan.index, placement, plan.present[:, here]),
            steps=self._steps[here],
            alone=alone,
        )

    def _stay(self, squads: Sequence[Squad], sources: Mapping[str, Ints]) -> bool:
        """Whether all clients go on where they are, with the moments that they have there."""
        pairs = zip(squads, self._squads, strict=False)
        if len(squads) != len(self._squads) or not all(new.is_same(old) for new, old in pairs):
            return False
        clients = np.concatenate([squad.roster for squad in squads])
        # Without moments, all that a worker has comes with this call: nothing before it matters.
        return self._keeps_moments and all(
            np.array_equal(source[clients], clients) for source in sources.values()
        )

    def _with_moments(self, orders: Orders, squad: Squad, sources: Mapping[str, Ints]) -> Call:
        """The call that begins a round with what clients kept, wherever they trained before."""
        moments, chosen = self._parking.find(squad.roster, sources)
        given = (replace(orders, sources=chosen), self._start, self._before, *moments)
        return Call("begin", given)

    @property
    def _keeps_moments(self) -> bool:
        return bool(self.task.optimiser.moments)

    # -------------------------------------------------------------------------------- training

    @property
    def _workers(self) -> list[Worker]:
        return [squad.worker for squad in self._squads]

    @property
    def _meets(self) -> bool:
        """Whether the server's replicas meet within a round, and are on several workers."""
        return len(self._squads) > 1 and self.task.scheme.interval(Part.SERVER) != "round"

    def _legs(self) -> list[range]:
        """An epoch's batches, cut where workers must wait for each other."""
        last, every = self._whole.batches, self.task.scheme.interval(Part.SERVER)
        stride = 1 if every == "batch" else every if isinstance(every, int) else last
        if not self._meets:
            stride = last
        return [range(first, min(first + stride, last)) for first in range(0, last, stride)]

    def _train(self, epoch: int, batches: range) -> NDArray[np.float64]:
        workers, meets = self._workers, self._meets
        name, objects = ("train_and_meet", 1) if meets else ("train", 0)
        replies = tell(workers, [Call(name, (epoch, batches), objects)] * len(workers))
        if meets:
            (mean,) = combine(workers, [reply.objects[0] for reply in replies])
            tell(workers, [Call("adopt", (epoch, mean))] * len(workers))
        losses: NDArray[np.float64] = np.sum([reply.result for reply in replies], axis=0)
        return losses

    def _keep(self) -> None:
        """Keep the workers' states, if it is time to."""
        workers = self._workers
        if not self._keeping.is_due(max(len(worker.history) for worker in workers)):
            return
        with self._keeping.measuring():
            replies = ask(workers, [Call("snapshot", objects=1)] * len(workers))
        for worker, begin, reply in zip(workers, self._begins, replies, strict=True):
            worker.history[1:] = [begin, Call("restore", tuple(reply.objects))]

    # --------------------------------------------------------------------------------- the end

    def _finish(self) -> None:
        workers = self._workers
        replies = ask(workers, [Call("finish", objects=1)] * len(workers))
        means = combine(workers, [reply.objects[0] for reply in replies], most=FAN_IN)
        given = (self._start, self._apart, *means)
        (reply,) = ask(workers[:1], [Call("conclude", given, objects=2)])
        self._start, self._before = reply.objects

    def _park(self) -> None:
        """Take all moments off the workers, who then hold nothing that is not elsewhere."""
        squads, self._squads = self._squads, []
        if self._keeps_moments:
            calls = [Call("park", objects=len(squad.roster)) for squad in squads]
            replies = ask([squad.worker for squad in squads], calls)
            for squad, reply in zip(squads, replies, strict=True):
                self._parking.take_in(squad.roster, reply.objects)
        for worker in self._crew.workers:
            del worker.history[1:]

    def weights(self) -> dict[str, Tensor]:
        """The model's weights, as its own state_dict calls them."""
        self._fetch()
        return self._model.model()

    def _fetch(self) -> None:
        self._model.load_start(self._store.get(self._start), self._store.get(self._before))

    def _put_start(self) -> tuple[Ref, Ref]:
        model = self._model
        return self._store.put(Parcel(model.start)), self._store.put(Parcel(model.before))

    def to_state(self) -> State:
        """Everything that the next round depends on, as the engine `stacked` has it."""
        self._fetch()
        self._park()
        empty = self._model.to_state()
        steps = torch.from_numpy(self._steps.copy())
        moments = self._parking.to_state(empty, len(steps), self._model.layer_of)
        return {**empty, "steps": steps, **moments, **self._hosting.to_state()}

    def load_state(self, state: State) -> None:
        """Go on from a saved state, of this engine or of `stacked`."""
        self._hosting.load_state(state)
        self._model.adopt_heads(self._hosting.hosts)
        self._model.load_model(state)
        self._start, self._before = self._put_start()
        self._steps = state["steps"].numpy().copy()
        self._park()
        self._parking.load_state(
            state, np.flatnonzero(self._steps) if self._keeps_moments else NOBODY
        )
