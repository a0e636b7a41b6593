"""The thread on which a node computes, and mail that waits without filling the memory."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import asynccontextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiercut.net.engine import LoopThread
from tiercut.net.messages import Heartbeat, Probe, read_data, read_from_node
from tiercut.net.streams import Conversation, Insecure, new_server, no_payload, open_stream
from tiercut.net.workshop import MOST_WAITING, Outbox, Room, Workshop

MOMENT = 0.1
"""Seconds in which nothing happens, where nothing can."""


async def settle():
    """Let everything happen that can happen now."""
    for _ in range(20):
        await asyncio.sleep(0)


# ------------------------------------------------------------------------------------------- room


@given(st.integers(1, 10), st.lists(st.integers(1, 15), max_size=12), st.data())
def test_room_is_never_overdrawn_and_nobody_waits_for_ever(limit, sizes, data):
    async def go():
        room, inside = Room(limit), []

        async def enter(size):
            await room.take(size)
            inside.append(size)

        entering = [asyncio.create_task(enter(size)) for size in sizes]
        await settle()
        while inside:
            # What is larger than all the room there is comes in alone.
            assert sum(inside) <= limit or len(inside) == 1
            leaving = inside.pop(data.draw(st.integers(0, len(inside) - 1)))
            await room.give(leaving)
            await settle()
        assert all(task.done() for task in entering)

    asyncio.run(go())


# --------------------------------------------------------------------------------------- workshop


@asynccontextmanager
async def workshop(**options):
    """One that notes what fails."""
    failures = []
    shop = Workshop(failures.append, **options)
    try:
        yield shop, failures
    finally:
        shop.close()


def test_everything_is_done_in_order_on_one_other_thread():
    async def go():
        done = []

        def work(number):
            done.append((number, threading.get_ident()))

        async with workshop() as (shop, failures):
            for number in range(30):
                if number % 3 == 0:
                    shop.add(lambda number=number: work(number))
                elif number % 3 == 1:
                    await shop.take_in(lambda number=number: work(number), 1)
                else:
                    await shop.do(lambda number=number: work(number))
        assert [number for number, _ in done] == list(range(30))
        threads = {thread for _, thread in done}
        assert len(threads) == 1
        assert threading.get_ident() not in threads
        assert failures == []

    asyncio.run(go())


def test_who_brings_too_much_waits_until_it_was_worked_on():
    async def go():
        hold = threading.Event()
        async with workshop() as (shop, _):
            await shop.take_in(hold.wait, MOST_WAITING)
            second = asyncio.create_task(shop.take_in(lambda: None, 1))
            await settle()
            assert not second.done()
            hold.set()
            await second

    asyncio.run(go())


def test_a_failure_is_told_on_the_loop_and_makes_room():
    async def go():
        told = asyncio.get_running_loop().create_future()

        def tell(problem):
            told.set_result((problem, threading.get_ident()))

        shop = Workshop(tell)
        await shop.take_in(lambda: 1 // 0, MOST_WAITING)
        problem, thread = await told
        assert isinstance(problem, ZeroDivisionError)
        assert thread == threading.get_ident()
        await shop.take_in(lambda: None, MOST_WAITING)
        shop.close()

    asyncio.run(go())


def test_what_fails_while_somebody_waits_is_told_to_nobody_else():
    async def go():
        async with workshop() as (shop, failures):
            with pytest.raises(ZeroDivisionError):
                await shop.do(lambda: 1 // 0)
            await settle()
        assert failures == []

    asyncio.run(go())


def test_closing_drops_what_waits_and_finishes_what_is_under_way():
    async def go():
        hold, under_way, done = threading.Event(), threading.Event(), []

        def first():
            under_way.set()
            hold.wait()
            done.append("first")

        async with workshop() as (shop, _):
            shop.add(first)
            shop.add(lambda: done.append("second"))
            under_way.wait()
        hold.set()
        shop._pool.shutdown(wait=True)
        assert done == ["first"]

    asyncio.run(go())


def test_work_that_outlives_the_loop_ends_in_silence(caplog):
    """Whoever stops a server does so in the middle of a batch."""
    loop, begun, go_on, failures = LoopThread(), threading.Event(), threading.Event(), []

    def work():
        begun.set()
        go_on.wait()
        raise OSError("the stream is closed")

    async def start():
        workshop = Workshop(failures.append)
        await workshop.take_in(work, size=5)
        return workshop

    workshop = loop.run(start())
    begun.wait()
    workshop.close()
    loop.close()
    go_on.set()
    workshop._pool.shutdown(wait=True)
    assert caplog.records == []
    assert failures == []


def test_nodes_may_share_a_thread_that_outlives_each_of_them():
    async def go():
        with ThreadPoolExecutor(1) as shared:
            async with workshop(shared=shared) as (one, _), workshop(shared=shared) as (other, _):
                first = await one.do(threading.get_ident)
                one.close()
                assert await other.do(threading.get_ident) == first

    asyncio.run(go())


# ----------------------------------------------------------------------------------------- outbox


class Wire:
    """A stream over loopback: one end writes, the other reads when it is told to."""

    def __init__(self):
        self.got = asyncio.Queue()
        self.reads = asyncio.Event()
        self.ends = asyncio.Event()

    async def serve(self, context):
        """The end that reads."""
        await self.reads.wait()
        talk = Conversation(context, "sender", read_data, lambda header: header.bytes)
        listening = asyncio.create_task(self._listen(talk))
        await self.ends.wait()
        listening.cancel()

    async def _listen(self, talk):
        async for arrival in talk.receive():
            self.got.put_nowait((arrival.header, bytes(arrival.payload)))


@asynccontextmanager
async def connected():
    """A wire, and a conversation at its writing end."""
    wire = Wire()
    server = new_server({"Data": wire.serve})
    port = Insecure("reader").listen(server, "127.0.0.1:0")
    await server.start()
    channel = Insecure("sender").channel(f"127.0.0.1:{port}", "reader")
    try:
        stream = open_stream(channel, "Data", "sender")
        yield wire, Conversation(stream, "reader", read_from_node, no_payload)
    finally:
        wire.reads.set()
        wire.ends.set()
        await channel.close()
        await server.stop(0)


def probe(size):
    """A message with a payload of so many bytes."""
    return Probe(bytes=size, left=0)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.lists(st.binary(max_size=50_000), min_size=1, max_size=4), max_size=12))
def test_messages_arrive_whole_and_in_order(messages):
    messages = [pieces for pieces in messages if any(pieces)]

    async def go():
        async with connected() as (wire, talk):
            wire.reads.set()
            outbox = Outbox(talk, limit=1000)
            sending = asyncio.create_task(outbox.run())

            def put_all():
                for pieces in messages:
                    outbox.put(probe(sum(map(len, pieces))), pieces)

            await asyncio.to_thread(put_all)
            for pieces in messages:
                header, payload = await wire.got.get()
                assert payload == b"".join(pieces)
                assert header == probe(len(payload))
            sending.cancel()

    asyncio.run(go())


def test_a_full_box_makes_its_sender_wait():
    async def go():
        async with connected() as (wire, talk):
            outbox = Outbox(talk, limit=1000)
            with ThreadPoolExecutor(1) as pool:
                first = pool.submit(outbox.put, probe(1000), [bytes(1000)])
                second = pool.submit(outbox.put, probe(1), [b"!"])
                await asyncio.wrap_future(first)
                waits = not wait([second], MOMENT).done
                outbox.put(Heartbeat())  # what has no payload never waits
                wire.reads.set()
                sending = asyncio.create_task(outbox.run())
                await asyncio.wrap_future(second)
                sending.cancel()
            assert waits

    asyncio.run(go())


def test_what_takes_more_than_all_the_room_is_sent_all_the_same():
    async def go():
        async with connected() as (wire, talk):
            wire.reads.set()
            outbox = Outbox(talk, limit=10)
            sending = asyncio.create_task(outbox.run())
            await asyncio.to_thread(outbox.put, probe(5000), [bytes(5000)])
            _, payload = await wire.got.get()
            assert len(payload) == 5000
            sending.cancel()

    asyncio.run(go())


@pytest.mark.parametrize("how", ["cancelled", "the peer ends the stream"])
def test_nobody_waits_for_a_box_that_is_closed(how):
    async def go():
        async with connected() as (wire, talk):
            outbox = Outbox(talk, limit=1)
            sending = asyncio.create_task(outbox.run())
            with ThreadPoolExecutor(1) as pool:
                # More than the buffers on the way take, so that something always waits.
                puts = [pool.submit(outbox.put, probe(2**20), [bytes(2**20)]) for _ in range(50)]
                await asyncio.sleep(MOMENT)
                waiting = [put for put in puts if not put.done()]
                if how == "cancelled":
                    sending.cancel()
                else:
                    wire.reads.set()
                    wire.ends.set()
                await asyncio.gather(*map(asyncio.wrap_future, puts))
            await asyncio.gather(sending, return_exceptions=True)
            assert waiting
            left = outbox.backlog
            outbox.put(Heartbeat())
            outbox.put(probe(1), [b"!"])
            await settle()
            assert outbox.backlog == left

    asyncio.run(go())
