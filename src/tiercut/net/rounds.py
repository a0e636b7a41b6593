"""The server's part in a round: what it tells the devices, what it trains, how long it waits."""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from tiercut.cost import Placement, RoundSeconds
from tiercut.documents import Document
from tiercut.engines.common import CommonModel
from tiercut.engines.nodes import Duty, Server
from tiercut.engines.schedule import Schedule, make_schedule
from tiercut.engines.task import Brief, Measured, OnEpoch, Round, RoundLost, Trained
from tiercut.engines.transport import SERVER as SERVER_NODE
from tiercut.engines.transport import Activations, Address
from tiercut.errors import InputError
from tiercut.net.attempt import Attempt, Reactions
from tiercut.net.crew import Crew
from tiercut.net.due import AccessList, Due, Flow
from tiercut.net.frames import Refused, Skip, printable
from tiercut.net.letters import (
    Letter,
    NotFinite,
    Tag,
    check_labels,
    named_tensors,
    read_letter,
)
from tiercut.net.logs import Log
from tiercut.net.messages import (
    Abort,
    Begin,
    Cut,
    Finished,
    Go,
    Lost,
    Member,
    NamedTensor,
    Ready,
    WeightsHeader,
)
from tiercut.net.post import Post
from tiercut.net.rewind import Rewind
from tiercut.net.shift import SERVER
from tiercut.net.workshop import Outbox, Workshop

GRACE = 2.0
"""Seconds that every deadline has beside its multiple of what the plan predicts."""
SETTLING = 0.5
"""Seconds until a link that broke is known from a device that is gone."""
MENDING = 60.0
"""Seconds after which a link that broke is tried again."""


class Rounds:
    """Runs round after round with the devices that are there."""

    def __init__(
        self,
        task: Brief,
        common: CommonModel,
        crew: Crew,
        workshop: Workshop,
        log: Log,
        patience: float,
    ) -> None:
        self._task, self._common, self._crew = task, common, crew
        self._workshop, self._log, self._patience = workshop, log, patience
        self._numbers = {name: n for n, name in enumerate(task.clients)}
        self.post = Post(SERVER, task.wire, workshop)
        self.server = Server(task, SERVER_NODE, self.post)
        self._rewind = Rewind((self.server,), common.prototypes)
        self.attempt: Attempt | None = None
        self._losses: Counter[str] = Counter()
        self._access = AccessList()
        self.left_out: dict[str, Refused] = {}
        """Devices that sent in this round what they must not, or were too slow for it: it goes on,
        or starts again, without them."""
        self._attempts = int(time.time() * 1000)  # goes on counting after a restart
        self.stretch = 1.0
        """How many times as long as predicted the last round took without losing anybody who was
        late, at least 1."""
        self._broken: dict[frozenset[str], float] = {}
        """Pairs of devices that did not reach one another, and until when that counts."""

    # --------------------------------------------------------------------------------- one attempt

    async def run(self, plan: Round, steps: list[int], on_epoch: OnEpoch) -> Trained:
        """Train one round, or raise RoundLost: it can then be tried again with another plan."""
        self._attempts += 1
        tag = (plan.index, self._attempts)
        schedule = make_schedule(self._task, plan, steps)
        duties = self._duties(plan.placement, schedule)
        due = self._due(plan.placement, schedule, duties)
        attempt = self.attempt = Attempt(tag, plan.placement, schedule, due, self._reactions(tag))
        self._access.begin(tag, {self._task.clients[n]: own for n, own in due.items()})
        try:
            trained = await self._run(attempt, plan, duties, on_epoch)
        except RoundLost:
            self._leave_out_late(attempt)
            self._say(attempt, Abort(round=tag[0], attempt=tag[1], reason="the round starts again"))
            raise
        finally:
            self.post.stop()
            self._access.end()
            self.attempt = None
            self._losses += attempt.losses
        self.left_out.clear()
        return trained

    @property
    def losses(self) -> Counter[str]:
        """How many clients were lost so far, by kind of reason."""
        return self._losses + (Counter() if self.attempt is None else self.attempt.losses)

    async def _run(
        self,
        attempt: Attempt,
        plan: Round,
        duties: Mapping[int, tuple[Duty, Duty, Duty]],
        on_epoch: OnEpoch,
    ) -> Trained:
        loop = asyncio.get_running_loop()
        began = time.monotonic()
        gone = [self._task.clients[n] for n in sorted(attempt.present) if self._outbox(n) is None]
        if gone:  # nothing is lost yet with another plan
            raise RoundLost(f"{gone[0]} left before it began")
        # Those of now: who connects again has no part in this attempt, and must be sent nothing.
        ways = {n: self._outbox(n) for n in attempt.present}
        self._send_begin(attempt, plan.placement)
        await self._workshop.do(partial(self._begin, attempt, duties, ways))
        limits = _Limits(plan.expected, self._patience * self.stretch, attempt.schedule.epochs)
        await attempt.wait(
            lambda: attempt.present <= attempt.ready,
            limits.download,
            lambda: attempt.present - attempt.ready,
            "taking up the round",
        )
        ready = time.monotonic()

        def epoch_over(number: int) -> None:
            loop.call_soon_threadsafe(attempt.on_epoch, number)
            on_epoch(number)

        self.server.on_epoch = epoch_over
        self._say(attempt, Go(round=attempt.tag[0], attempt=attempt.tag[1]))
        for epoch in range(attempt.schedule.epochs):
            await attempt.wait(
                lambda epoch=epoch: attempt.epochs > epoch,  # type: ignore[misc]
                limits.epoch,
                lambda: self.server.pace.late() & attempt.present,
                "an epoch",
            )
        trained = time.monotonic()
        await attempt.wait(
            lambda: not attempt.unfinished(), limits.upload, attempt.unfinished, "the upload"
        )
        result = await self._workshop.do(self.server.result)
        self._common.go_on(result, plan)
        ended = time.monotonic()
        measured = Measured(
            download=ready - began,
            training=trained - ready,
            upload=ended - trained,
            bytes=self._bytes(attempt),
            lost=len(attempt.lost),
        )
        if plan.expected is not None and not attempt.late:
            self.stretch = max(1.0, measured.seconds / plan.expected.round)
        return self._sum_up(attempt, measured)

    def _sum_up(self, attempt: Attempt, measured: Measured) -> Trained:
        sizes = attempt.schedule.sizes_of(attempt.present)
        losses = [attempt.finished[n].loss for n in sorted(attempt.present)]
        local = sum(math.nan if one is None else one for one in losses)
        loss = self.server.loss_over(attempt.present)
        return Trained.over(self._task, sizes, (local, loss), measured)

    def _bytes(self, attempt: Attempt) -> Counter[str]:
        total = Counter(self.post.bytes)
        for message in attempt.finished.values():
            total.update(message.sent)
        return total

    # ----------------------------------------------------------------------- what devices are told

    def _duties(
        self, placement: Placement, schedule: Schedule
    ) -> dict[int, tuple[Duty, Duty, Duty]]:
        return {
            n: self._common.duties(
                n,
                int(placement.aggregator_layers[n]),
                int(placement.cut_layers[n]),
                int(placement.aggregator_of[n]),
            )
            for n in schedule.turns
        }

    def _due(
        self,
        placement: Placement,
        schedule: Schedule,
        duties: Mapping[int, tuple[Duty, Duty, Duty]],
    ) -> dict[int, Due]:
        """What each device may send: its clients' activations at the cut, and its layers."""
        due = {n: Due(weights={"client": {}, "aggregator": {}}) for n in schedule.turns}
        for n, (own, served, _) in duties.items():
            k = int(placement.aggregator_of[n])
            shape = self._task.shapes[int(placement.cut_layers[n]) - 1]
            turn = schedule.turns[n]
            seen = replace(turn, sizes=tuple(map(self._task.sent_up, turn.sizes)))
            due[k].flows[n] = Flow(seen, shape, self._task.wire)
            due[n].weights["client"][n] = self._described(own)
            due[k].weights["aggregator"][n] = self._described(served)
        return due

    def _described(self, duty: Duty) -> tuple[NamedTensor, ...]:
        return named_tensors({name: self._common.layers[name] for name in duty.layers})

    def _send_begin(self, attempt: Attempt, placement: Placement) -> None:
        turns = attempt.schedule.turns
        members = {
            n: Member(
                client=n,
                name=turn.source,
                examples=turn.examples,
                first_step=turn.first_step,
                attends=turn.attends,
                aggregator_layer=int(placement.aggregator_layers[n]),
                cut_layer=int(placement.cut_layers[n]),
            )
            for n, turn in turns.items()
        }
        for n in sorted(attempt.present):
            k = attempt.aggregator_of[n]
            name = self._task.clients[k]
            begin = Begin(
                round=attempt.tag[0],
                attempt=attempt.tag[1],
                own=members[n],
                aggregator=k,
                aggregator_name=name,
                aggregator_address=self._crew.peers[name].hello.address,
                members=tuple(members[m] for m in turns if attempt.aggregator_of[m] == n),
                taking_part=tuple(sorted(turns)),
            )
            self._tell(n, begin)

    def _begin(
        self,
        attempt: Attempt,
        duties: Mapping[int, tuple[Duty, Duty, Duty]],
        ways: Mapping[int, Outbox | None],
    ) -> None:
        """On the workshop's thread: take up the round, and send everybody its weights."""
        self._rewind.start(attempt.schedule.round)
        self.post.begin(attempt.tag, ways.get, attempt.due)
        self.server.begin({n: parts[2] for n, parts in duties.items()}, attempt.schedule)
        self.server.start_from(self._common.start)
        for n in attempt.schedule.turns:
            served = {m: d[1] for m, d in duties.items() if attempt.aggregator_of[m] == n}
            self._send_start(Address("client", n), {n: duties[n][0]})
            self._send_start(Address("aggregator", n), served)

    def _send_start(self, node: Address, duties: Mapping[int, Duty]) -> None:
        weights = self._common.start_of(duties)
        if weights is not None:
            self.post.send(SERVER_NODE, node, weights)

    def _reactions(self, tag: Tag) -> Reactions:
        def note(client: int, reason: str) -> None:
            name = self._task.clients[client]
            self._log.warn("lost", node=name, round=tag[0] + 1, reason=reason)
            self._tell(client, Abort(round=tag[0], attempt=tag[1], reason=printable(reason)))
            peer = self._crew.peers.get(name)
            if peer is not None and peer.data is not None and peer.data.backlog:
                # It would be sent more every round, until the server itself waits for it.
                peer.hang_up("it does not take what it is sent")

        return Reactions(
            forget=lambda n: self._workshop.add(partial(self._drop, tag, n)),
            tell=lambda k, n: self._tell(k, Lost(round=tag[0], attempt=tag[1], client=n)),
            note=note,
        )

    def _drop(self, tag: Tag, client: int) -> None:
        if self.post.tag == tag:
            self.server.drop(client)

    def _say(self, attempt: Attempt, message: Document) -> None:
        for n in sorted(attempt.present):
            self._tell(n, message)

    def _tell(self, client: int, message: Document) -> None:
        peer = self._crew.peers.get(self._task.clients[client])
        if peer is not None:
            peer.control.put(message)

    def _outbox(self, client: int) -> Outbox | None:
        peer = self._crew.peers.get(self._task.clients[client])
        return None if peer is None else peer.data

    # ------------------------------------------------------------------------- what devices say

    def on_word(self, name: str, message: Ready | Cut | Finished) -> None:
        """See Listener."""
        attempt, n = self.attempt, self._numbers.get(name)
        if attempt is None or n not in attempt.present or message.tag != attempt.tag:
            return
        if isinstance(message, Ready):
            attempt.on_ready(n)
        elif isinstance(message, Finished):
            attempt.on_finished(n, message)
        else:
            self._on_cut(attempt, n, message)

    def _on_cut(self, attempt: Attempt, client: int, message: Cut) -> None:
        """Go on without a device that does not reach its aggregator, if that one is still there."""
        name = self._task.clients[client]
        if message.peer == name or message.peer not in self._numbers:
            attempt.lose(client, f"it failed: {message.reason}", "failed")
            return
        served = self._numbers[message.peer]
        if attempt.aggregator_of.get(served) == client:
            self._note_broken(name, message.peer)
            attempt.lose(served, f"{name} refuses it: {message.reason}", "refused")
            return

        if message.peer in self._crew.peers:
            self._note_broken(name, message.peer)

        def conclude() -> None:
            if attempt is self.attempt:
                reason = f"{message.peer} is out of its reach: {message.reason}"
                attempt.lose(client, reason, "unreachable")

        asyncio.get_running_loop().call_later(SETTLING, conclude)

    def _note_broken(self, *pair: str) -> None:
        self._broken[frozenset(pair)] = time.monotonic() + MENDING

    @property
    def broken(self) -> frozenset[frozenset[str]]:
        """Pairs of devices that do not reach one another, as far as is known."""
        now = time.monotonic()
        return frozenset(pair for pair, end in self._broken.items() if now < end)

    def allowed(self, name: str, header: Letter, stream: object) -> int | Skip:
        """See Listener."""
        return self._access.allowed(name, header, stream)

    async def on_letter(self, name: str, header: Letter, payload: memoryview) -> None:
        """See Listener."""
        attempt = self.attempt
        if attempt is not None and header.tag == attempt.tag:
            work = partial(self._deliver, name, header, payload, attempt)
            await self._workshop.take_in(work, len(payload))

    def _deliver(self, name: str, header: Letter, payload: memoryview, attempt: Attempt) -> None:
        """On the workshop's thread."""
        loop = self._workshop.loop
        try:
            message = read_letter(header, payload, self._task.wire)
            if isinstance(message, Activations):
                check_labels(message.labels, self._task.classes)
        except Refused as refused:
            self._log.warn("refused", peer=name, what="data", reason=str(refused))
            loop.call_soon_threadsafe(self.on_refused, name, refused)
            loop.call_soon_threadsafe(attempt.lose, self._numbers[name], str(refused), "refused")
            return
        self.post.delivery(attempt.tag, SERVER_NODE, message)()
        if isinstance(header, WeightsHeader):
            loop.call_soon_threadsafe(attempt.on_upload, header.part, header.clients)

    def on_refused(self, name: str, refused: Refused) -> None:
        """See Listener."""
        self.left_out[name] = refused

    def _leave_out_late(self, attempt: Attempt) -> None:
        """Start again without those who were too slow; should all have been, with more time."""
        for n in attempt.late:
            self.left_out.setdefault(self._task.clients[n], Refused("too slow"))
        if attempt.late and not attempt.present:
            self.stretch *= 2

    def readmit(self) -> None:
        """Nobody but those who were left out is there: try again, unless most have diverged."""
        diverged = [n for n, refused in self.left_out.items() if isinstance(refused, NotFinite)]
        if 2 * len(diverged) > len(self._numbers):
            raise InputError(
                f"training diverged: what {len(diverged)} of {len(self._numbers)} devices compute"
                f" is not finite any more; lower rate in [training]; the rounds before are kept"
            )
        self.left_out.clear()

    def on_left(self, name: str, reason: str) -> None:
        """See Listener."""
        self._broken = {pair: end for pair, end in self._broken.items() if name not in pair}
        if self.attempt is not None and name in self._numbers:
            self.attempt.lose(self._numbers[name], reason)


class _Limits:
    """How long the phases of a round may take: a multiple of what the plan predicts."""

    def __init__(self, expected: RoundSeconds | None, times: float, epochs: int) -> None:
        download = upload = epoch = float("inf")
        if expected is not None:
            download, upload = expected.download, expected.upload
            epoch = (expected.round - download - upload) / epochs
        self.download, self.upload, self.epoch = (
            times * seconds + GRACE for seconds in (download, upload, epoch)
        )
