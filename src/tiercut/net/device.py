"""A device: joins the server, measures itself, and does its part in round after round.

It holds a client and an aggregator, which are those of the reference engine. When the server is
gone it waits for it to come back; when a round is given up it waits for the next.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import grpc

from tiercut import __version__
from tiercut.engines.transport import Activations, Address, Role
from tiercut.errors import InputError, TiercutError
from tiercut.net.bench import Bench
from tiercut.net.callers import Callers
from tiercut.net.due import AccessList
from tiercut.net.frames import Later, Refused, Skip, printable
from tiercut.net.identity import SERVER as SERVER_NAME
from tiercut.net.job import Load, check_code, make_task
from tiercut.net.letters import Letter, check_labels, read_letter
from tiercut.net.logs import Log
from tiercut.net.messages import (
    PROTOCOL,
    Abort,
    Begin,
    Bye,
    Capacity,
    Cut,
    Data,
    Finished,
    FromServer,
    Go,
    GradientsHeader,
    Heartbeat,
    Hello,
    Job,
    LinkRate,
    Lost,
    MeasureLink,
    MeasureSelf,
    Probe,
    Probed,
    Ready,
    Stock,
    WeightsHeader,
    Welcome,
    read_data,
    read_from_server,
)
from tiercut.net.probing import Meter, rate_of, send_probes
from tiercut.net.shift import SERVER, Shift, make_shift
from tiercut.net.streams import (
    Conversation,
    Gone,
    Security,
    new_server,
    no_payload,
    open_stream,
    reason_of,
)
from tiercut.net.tasks import until_one_ends
from tiercut.net.workshop import Outbox, Workshop

T = TypeVar("T")

BEAT = 2.0
"""Seconds between two signs of life."""
FIRST_WAIT, LONGEST_WAIT = 0.5, 10.0
"""Seconds before a device knocks again at a server that does not answer; doubled every time."""
CONNECT = 10.0
"""Seconds that another device may take to answer the first call."""
PARTING = 1.0
"""Seconds that others have to end their streams when this device leaves."""
REACH = 1.2
"""The same in a round: less than any deadline, so that the server hears of a broken link before it
only sees a device that is late."""


class Dismissed(Exception):
    """The server has no more to do for this device."""


@dataclass(frozen=True)
class Place:
    """Where a device and its server are."""

    server: str
    listen: str
    """host:port; port 0 takes any that is free."""
    host: str = "127.0.0.1"
    """Where others reach this device, at the port where it listens."""
    advertise: str | None = None
    """What others are to call instead, as host:port."""


class Device:
    """One device, in one event loop; several may share a process."""

    def __init__(
        self,
        security: Security,
        place: Place,
        load: Load,
        log: Log,
        *,
        model: str | None = None,
        scheme: str | None = None,
        shared: ThreadPoolExecutor | None = None,
    ) -> None:
        """`shared` is a single thread on which light devices of one process take turns."""
        self._security, self._place, self._load, self._log = security, place, load, log
        self._shared = shared
        self._own_code = (model, scheme)
        self._bench: Bench | None = None
        self._shift: Shift | None = None
        self._begun = 0
        """The newest attempt that this session's server has begun."""
        self._beginning = asyncio.Event()
        """Set when it begins another."""
        self._finished = False
        self._access = AccessList()
        self._callers = Callers(security)
        self._outboxes: dict[int, Outbox] = {}
        """To the server, and to the own aggregator."""
        self._shift_tasks: set[asyncio.Task[None]] = set()
        self._weights_in = asyncio.Event()
        self._started = False
        self._measuring: asyncio.Task[None] | None = None
        self._answers: dict[str, asyncio.Future[float]] = {}
        self.address = ""

    # ------------------------------------------------------------------------------- the long run

    async def run(self) -> None:
        """Take part until the server says that all is over; InputError where it refuses."""
        self._workshop = Workshop(self._on_failure, self._shared)
        server = new_server({"Data": self._serve_data})
        port = self._security.listen(server, self._place.listen)
        self.address = self._place.advertise or f"{self._place.host}:{port}"
        await server.start()
        self._log("listening", address=self.address)
        try:
            await self._knock_again_and_again()
        finally:
            await self._end_shift()
            self._callers.end_all()
            await server.stop(PARTING)
            self._workshop.close()

    async def _knock_again_and_again(self) -> None:
        wait = FIRST_WAIT
        while True:
            began = time.monotonic()
            try:
                await self._session()
            except Dismissed as bye:
                self._log("dismissed", reason=str(bye))
                return
            except (grpc.aio.AioRpcError, Gone, Refused) as problem:
                self._log.warn("server lost", reason=reason_of(problem))
            await self._end_shift()
            wait = FIRST_WAIT if time.monotonic() - began > BEAT else wait
            # Not all at once: a server that comes back has many devices to greet.
            await asyncio.sleep(wait * random.uniform(0.5, 1.0))
            wait = min(2 * wait, LONGEST_WAIT)

    async def _session(self) -> None:
        name = self._security.name
        self._begun, self._beginning = 0, asyncio.Event()
        channel = self._security.channel(self._place.server, SERVER_NAME)
        try:
            control = Conversation(
                open_stream(channel, "Control", name), SERVER_NAME, read_from_server, no_payload
            )
            data = self._converse(open_stream(channel, "Data", name), SERVER_NAME)
            self._control, self._outboxes[SERVER] = Outbox(control), Outbox(data)
            self._control.put(Hello(protocol=PROTOCOL, version=__version__, address=self.address))
            await until_one_ends(
                self._listen_to_server(control),
                self._listen(data, self._outboxes[SERVER]),
                self._control.run(),
                self._outboxes[SERVER].run(),
                self._beat(),
            )
        finally:
            await channel.close()

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT)
            self._control.put(Heartbeat())
            self._callers.check()

    # ---------------------------------------------------------------------- what the server says

    async def _listen_to_server(self, control: Conversation[FromServer]) -> None:
        async for arrival in control.receive():
            await self._act_on(arrival.header)
        raise Gone("the server ended the conversation")

    async def _act_on(self, message: FromServer) -> None:
        if isinstance(message, Welcome):
            await self._take_job(message.job)
        elif isinstance(message, MeasureSelf):
            throughput = await self._do_as_told(self._need_bench().measure)
            self._control.put(Capacity(throughput=throughput))
        elif isinstance(message, MeasureLink):
            if self._measuring is not None and not self._measuring.done():
                raise Refused("the server asks for a second measurement before the first is over")
            self._measuring = self._during_shift(self._measure_link(message))
        elif isinstance(message, Begin):
            await self._begin(message)
        elif isinstance(message, Bye):
            if message.refused:
                raise InputError(f"the server refuses this device: {message.reason}")
            raise Dismissed(message.reason)
        elif self._shift is not None and message.tag == self._shift.tag:
            await self._act_in_shift(message, self._shift)

    async def _act_in_shift(self, message: Go | Lost | Abort, shift: Shift) -> None:
        bench = self._need_bench()
        if isinstance(message, Go):
            if self._started:
                raise Refused("the server starts a round twice")
            self._started = True
            self._workshop.add(bench.client.start)
        elif isinstance(message, Lost):
            if message.client not in shift.schedule.turns:
                raise Refused("the server has lost a client that this device does not know")
            for due in shift.due.values():
                due.lost.add(message.client)
            self._workshop.add(partial(self._drop, bench, shift, message.client))
        else:
            self._log("round given up", round=message.round + 1, reason=message.reason)
            await self._end_shift()

    def _drop(self, bench: Bench, shift: Shift, client: int) -> None:
        if bench.post.tag == shift.tag:
            bench.aggregator.drop(client)
            self._report_if_done(bench, shift)

    async def _take_job(self, job: Job) -> None:
        """Build what the job needs, unless it is the one that this device is at already."""
        if self._bench is None or self._bench.job != job:
            check_code(job, *self._own_code)
            name = self._security.name
            self._log("job", model=job.model, scheme=job.scheme)
            self._bench = await self._do_as_told(
                lambda: Bench(job, make_task(job, name, self._load), self._workshop)
            )
        examples = self._bench.task.counts[0]
        self._control.put(Stock(examples=examples))
        self._log("joined", examples=examples)

    async def _do_as_told(self, work: Callable[[], T]) -> T:
        """Do what the server asks for; a job that cannot be done is no reason to fall over."""
        try:
            return await self._workshop.do(work)
        except (TiercutError, Refused):
            raise
        except Exception as problem:
            raise Refused(f"a job that fails: {type(problem).__name__}: {problem}") from None

    def _need_bench(self) -> Bench:
        if self._bench is None:
            raise Refused("the server asks for work before it has given a job")
        return self._bench

    # -------------------------------------------------------------------------- a round's duties

    async def _begin(self, begin: Begin) -> None:
        await self._end_shift()
        bench = self._need_bench()
        shift = make_shift(begin, bench.task, bench.common)
        bench.take_number(begin.own.client)
        self._shift, self._finished, self._weights_in = shift, False, asyncio.Event()
        self._started = False
        self._access.begin(shift.tag, shift.due_by_name)
        done = partial(self._report_if_done, bench, shift)
        self._begun = begin.attempt
        self._beginning.set()  # its weights may be here already, on a stream of their own
        self._beginning = asyncio.Event()
        await self._workshop.do(partial(bench.begin, shift, self._outbox, done))
        self._during_shift(self._prepare(begin, shift))

    async def _prepare(self, begin: Begin, shift: Shift) -> None:
        """Reach the aggregator and wait for the weights; then say so."""
        if shift.aggregator != shift.client:
            try:
                await self._link(begin, shift)
            except (grpc.aio.AioRpcError, TimeoutError, InputError) as problem:
                self._report_cut(shift, begin.aggregator_name, reason_of(problem))
                return
        await self._weights_in.wait()
        self._control.put(Ready(round=shift.tag[0], attempt=shift.tag[1]))

    async def _link(self, begin: Begin, shift: Shift) -> None:
        name = begin.aggregator_name
        channel = self._security.channel(begin.aggregator_address, name)
        try:
            await asyncio.wait_for(channel.channel_ready(), REACH)
        except BaseException:
            await channel.close()
            raise
        stream = open_stream(channel, "Data", self._security.name)
        talk = self._converse(stream, name)
        outbox = self._outboxes[shift.aggregator] = Outbox(talk)
        self._during_shift(self._keep_link(channel, talk, outbox, shift))

    async def _keep_link(
        self, channel: Any, talk: Conversation[Data], outbox: Outbox, shift: Shift
    ) -> None:
        try:
            await until_one_ends(self._listen(talk, outbox), outbox.run())
        except (grpc.aio.AioRpcError, Gone, Refused) as problem:
            self._report_cut(shift, talk.peer, reason_of(problem))
        finally:
            await channel.close()

    def _report_cut(self, shift: Shift, peer: str, reason: str) -> None:
        if shift is self._shift and not self._finished:
            self._log.warn("link lost", peer=peer, reason=reason)
            number, attempt = shift.tag
            self._control.put(
                Cut(round=number, attempt=attempt, peer=peer, reason=printable(reason))
            )

    def _report_if_done(self, bench: Bench, shift: Shift) -> None:
        """On the workshop's thread, after everything that may have been the last thing to do."""
        if self._finished or not bench.is_done(shift):
            return
        self._finished = True
        loss = bench.aggregator.loss_over(bench.aggregator.present)
        self._control.put(
            Finished(
                round=shift.tag[0],
                attempt=shift.tag[1],
                loss=loss if math.isfinite(loss) else None,
                sent=dict(bench.post.bytes),
            )
        )

    async def _end_shift(self) -> None:
        """Give up what is under way; what is still coming belongs to nobody."""
        self._shift = None
        self._access.end()
        if self._bench is not None and hasattr(self._bench, "post"):
            self._bench.post.stop()
        for task in tuple(self._shift_tasks):
            task.cancel()
        await asyncio.gather(*self._shift_tasks, return_exceptions=True)
        self._shift_tasks.clear()
        # Who served this device in one round may be served by it in the next, and calls then.
        self._outboxes = {n: outbox for n, outbox in self._outboxes.items() if n == SERVER}

    def _during_shift(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._shift_tasks.add(task)
        task.add_done_callback(self._shift_tasks.discard)
        return task

    # ----------------------------------------------------------------------- data, from anybody

    async def _serve_data(self, context: Any) -> None:
        """Another device has opened a stream to this one."""
        who = context.peer()
        try:
            who = self._callers.name_of(context)
            talk = self._converse(context, who)
            outbox = Outbox(talk)
            await self._callers.serve(who, context, outbox, self._listen(talk, outbox))
        except Refused as refused:
            self._refuse(who, refused)
            await context.abort(grpc.StatusCode.PERMISSION_DENIED, str(refused))

    def _refuse(self, peer: str, refused: Refused) -> None:
        """Note what a peer must not do; if it is served here, the server is to go on without it."""
        self._log.warn("refused", peer=peer, reason=str(refused))
        shift = self._shift
        if shift is not None and shift.names.get(peer) in shift.served:
            self._report_cut(shift, peer, str(refused))

    def _converse(self, stream: Any, peer: str) -> Conversation[Data]:
        return Conversation(stream, peer, read_data, partial(self._allowed, peer, stream))

    def _allowed(self, peer: str, stream: object, header: Data) -> int | Skip:
        """How much may follow a header from a peer: what the round's plan says."""
        if isinstance(header, Probe):
            return Skip(header.bytes)
        if isinstance(header, Probed):
            return 0
        if peer == SERVER_NAME and header.attempt > self._begun:
            raise Later(self._beginning)
        return self._access.allowed(peer, header, stream)

    def _outbox(self, number: int) -> Outbox | None:
        """How to reach a machine of this round."""
        if number in self._outboxes:
            return self._outboxes[number]
        names = {} if self._shift is None else self._shift.names
        name = next((name for name, n in names.items() if n == number), "")
        return next((caller.outbox for caller in self._callers.named(name)), None)

    async def _listen(self, talk: Conversation[Data], outbox: Outbox) -> None:
        meter = Meter(outbox)
        async for arrival in talk.receive():
            header = arrival.header
            if isinstance(header, Probe):
                meter.take(header, time.monotonic())
            elif isinstance(header, Probed):
                self._take_answer(talk.peer, header)
            elif arrival.payload is not None:
                await self._take_in(talk.peer, header, arrival.payload)
        raise Gone(f"{talk.peer} ended the conversation")

    async def _take_in(self, peer: str, header: Letter, payload: memoryview) -> None:
        shift, bench = self._shift, self._need_bench()
        if shift is None or header.tag != shift.tag:
            return
        deliver = partial(self._deliver, peer, header, payload, shift, bench)
        if isinstance(header, WeightsHeader):
            await self._workshop.do(deliver)
            if not shift.awaits_weights:
                self._weights_in.set()
        else:
            await self._workshop.take_in(deliver, len(payload))

    def _deliver(
        self, peer: str, header: Letter, payload: memoryview, shift: Shift, bench: Bench
    ) -> None:
        """On the workshop's thread: hand a message to the client or the aggregator."""
        try:
            message = read_letter(header, payload, bench.task.wire)
            if isinstance(message, Activations):
                check_labels(message.labels, bench.task.classes)
        except Refused as refused:
            if isinstance(header, WeightsHeader):
                raise  # to where the server is listened to
            self._workshop.loop.call_soon_threadsafe(self._blame, peer, refused, shift)
            return
        role: Role = "aggregator"
        if isinstance(header, WeightsHeader):
            role = header.part
        elif isinstance(header, GradientsHeader) and peer != SERVER_NAME:
            role = "client"
        bench.post.delivery(shift.tag, Address(role, shift.client), message)()

    def _blame(self, peer: str, refused: Refused, shift: Shift) -> None:
        """What a peer sent was due, and is not fit to be used."""
        callers = self._callers.named(peer)
        for caller in callers:
            caller.end(refused)
        if not callers:  # it is the server or the own aggregator
            self._refuse(peer, refused)
            self._report_cut(shift, peer, str(refused))

    def _on_failure(self, problem: BaseException) -> None:
        """Something went wrong on the workshop's thread; the round goes on without this device."""
        shift = self._shift
        self._log("work failed", "error", reason=f"{type(problem).__name__}: {problem}")
        if shift is not None:
            self._report_cut(shift, self._security.name, f"{type(problem).__name__}: {problem}")

    # ------------------------------------------------------------------------------ measurements

    async def _measure_link(self, wish: MeasureLink) -> None:
        if wish.peer == SERVER_NAME:
            rate = await self._probe(self._outboxes[SERVER], SERVER_NAME)
        else:
            rate = await self._probe_peer(wish)
        self._control.put(LinkRate(peer=wish.peer, rate=rate))

    async def _probe_peer(self, wish: MeasureLink) -> float | None:
        channel = self._security.channel(wish.address, wish.peer)
        try:
            await asyncio.wait_for(channel.channel_ready(), CONNECT)
            stream = open_stream(channel, "Data", self._security.name)
            talk = self._converse(stream, wish.peer)
            outbox = Outbox(talk)
            found: list[float | None] = []

            async def ask() -> None:
                found.append(await self._probe(outbox, wish.peer))

            await until_one_ends(self._listen(talk, outbox), outbox.run(), ask())
            return found[0]
        except (grpc.aio.AioRpcError, TimeoutError, Gone, Refused, InputError) as problem:
            self._log.warn("link not measured", peer=wish.peer, reason=reason_of(problem))
            return None
        finally:
            await channel.close()

    async def _probe(self, outbox: Outbox, peer: str) -> float | None:
        answer = self._answers[peer] = asyncio.get_running_loop().create_future()
        send_probes(outbox)
        try:
            return await rate_of(answer)
        finally:
            self._answers.pop(peer, None)

    def _take_answer(self, peer: str, header: Probed) -> None:
        answer = self._answers.get(peer)
        if answer is None or answer.done():
            raise Refused("the answer to a measurement that nobody made")
        answer.set_result(header.rate)
