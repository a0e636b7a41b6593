"""Who is connected, who is still in a round, and a round that starts again."""

import asyncio
from contextlib import asynccontextmanager
from functools import cache

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines.instances import distance, reference, task, whole
from tiercut.cost import Placement
from tiercut.engines.optimiser import Optimiser
from tiercut.engines.schedule import Schedule, Turn
from tiercut.engines.task import RoundLost
from tiercut.net.attempt import Attempt, Reactions
from tiercut.net.crew import Crew, Peer
from tiercut.net.due import Due
from tiercut.net.messages import PROTOCOL, Finished, Hello, read_from_node
from tiercut.net.rewind import Rewind
from tiercut.net.streams import Conversation, no_payload
from tiercut.net.workshop import Outbox

TAG = (0, 7)
AT_ONCE = 0.0
"""A deadline that is over as soon as somebody waits."""
NEVER = 1e6


# ------------------------------------------------------------------------------------------- crew


class Guest:
    """A device's streams at the server, without a device."""

    def __init__(self, name, line="one"):
        talk = Conversation(None, name, read_from_node, no_payload)
        self.task = asyncio.create_task(asyncio.Event().wait())
        hello = Hello(protocol=PROTOCOL, version="0", address="10.0.0.1:1")
        self.peer = Peer(name, hello, line, Outbox(talk), self.task)

    def join(self):
        """Have a data stream and examples."""
        talk = Conversation(None, self.peer.name, read_from_node, no_payload)
        self.peer.data, self.peer.examples = Outbox(talk), 3
        return self


async def end(*guests):
    """Be rid of their tasks."""
    for guest in guests:
        guest.task.cancel()
    await asyncio.gather(*(guest.task for guest in guests), return_exceptions=True)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=20))
def test_the_newest_connection_of_a_name_counts(moves):
    """Devices come and go; a connection that was replaced may be found to be dead much later."""

    async def go():
        crew, newest, guests = Crew(), {}, []
        for name, comes in moves:
            version = crew.version
            if comes:
                guest = Guest(name).join()
                guests.append(guest)
                before = newest.get(name)
                assert await crew.add(guest.peer) == (before is not None)
                assert before is None or before.task.cancelling()
                newest[name] = guest
                assert crew.version > version
            else:
                for guest in guests:
                    if guest.peer.name == name:
                        assert await crew.remove(guest.peer) == (newest.get(name) is guest)
                        newest = {n: g for n, g in newest.items() if g is not guest}
            assert crew.joined() == sorted(newest)
            assert crew.peers == {name: guest.peer for name, guest in newest.items()}
        await end(*guests)

    asyncio.run(go())


def test_only_those_with_data_and_a_data_stream_have_joined():
    async def go():
        crew, half, whole = Crew(), Guest("half"), Guest("whole").join()
        await crew.add(half.peer)
        await crew.add(whole.peer)
        assert crew.joined() == ["whole"]
        await end(half, whole)

    asyncio.run(go())


def test_a_device_is_waited_for_on_its_own_line():
    async def go():
        crew, guest = Crew(), Guest("a", line="new")
        other = asyncio.create_task(crew.wait_for("a", "new", NEVER))
        await crew.add(guest.peer)
        assert await other is guest.peer
        assert await crew.wait_for("a", "old", AT_ONCE) is None
        assert await crew.wait_for("b", "new", AT_ONCE) is None
        await end(guest)

    asyncio.run(go())


def test_whoever_waits_for_a_change_is_told():
    async def go():
        crew, guests = Crew(), [Guest("a").join(), Guest("b").join()]
        both = asyncio.create_task(crew.wait_until(lambda: len(crew.joined()) == 2))
        for guest in guests:
            assert not both.done()
            await crew.add(guest.peer)
            await asyncio.sleep(0)
        await both
        await crew.wait_until_empty(AT_ONCE)
        assert len(crew.peers) == 2
        empty = asyncio.create_task(crew.wait_until_empty(NEVER))
        for guest in guests:
            await crew.remove(guest.peer)
        await empty
        await end(*guests)

    asyncio.run(go())


def test_answers_come_to_who_asked_and_end_with_the_device():
    async def go():
        guest = Guest("a")
        peer = guest.peer
        first, second = peer.ask("throughput"), peer.ask("rate to b")
        peer.answer("throughput", 5.0)
        peer.answer("throughput", 6.0)
        peer.answer("the weather", 7.0)
        assert await first == 5.0
        peer.leave()
        with pytest.raises(asyncio.CancelledError):
            await second
        await end(guest)

    asyncio.run(go())


# ---------------------------------------------------------------------------------------- attempt


class Court:
    """An attempt, and what was done about those who were lost."""

    def __init__(self, aggregator_of):
        self.forgotten, self.told, self.noted = [], [], []
        everybody = range(len(aggregator_of))
        turns = {n: Turn(f"c{n}", 1, (1,), 0, 1) for n in everybody}
        self.due = {n: Due() for n in everybody}
        self.attempt = Attempt(
            TAG,
            Placement.three_tiers(1, 2, aggregator_of),
            Schedule(TAG[0], 1, turns, turns.keys()),
            self.due,
            Reactions(
                forget=self.forgotten.append,
                tell=lambda k, n: self.told.append((k, n)),
                note=lambda n, reason: self.noted.append(n),
            ),
        )

    def finish(self, client):
        """All that is expected of a device, and what others trained for it, has come."""
        message = Finished(round=TAG[0], attempt=TAG[1], loss=0.0, sent={})
        self.attempt.on_finished(client, message)
        for part in ("client", "aggregator"):
            self.attempt.on_upload(part, [client])

    async def outcome(self):
        """Why the attempt was given up; None if it was not."""
        try:
            await self.attempt.wait(lambda: True, NEVER, set, "nothing")
        except RoundLost as lost:
            return str(lost)
        return None


@st.composite
def groups(draw):
    """Who serves whom, among up to eight; whoever serves others serves itself."""
    count = draw(st.integers(1, 8))
    serving = sorted(draw(st.sets(st.integers(0, count - 1), min_size=1)))
    return [n if n in serving else draw(st.sampled_from(serving)) for n in range(count)]


@given(groups(), st.data())
def test_who_serves_nobody_is_left_out_and_everything_else_ends_the_attempt(served_by, data):
    async def go():
        court = Court(served_by)
        attempt, failure = court.attempt, None
        done, present = set(), set(range(len(served_by)))
        for client in data.draw(st.lists(st.sampled_from(range(len(served_by))))):
            if data.draw(st.booleans()):
                court.finish(client)
                done.add(client)
                continue
            attempt.lose(client, f"loss of {client}")
            if client in present - done:
                present.discard(client)
                serves = any(served_by[n] == client for n in present)
                if serves or not present:
                    failure = client if failure is None else failure
                else:
                    assert court.forgotten[-1] == client
                    assert court.told[-1] == (served_by[client], client)
                    assert all(client in due.lost for due in court.due.values())
            assert attempt.present == present
            assert set(attempt.lost) == set(range(len(served_by))) - present
        assert court.noted == list(attempt.lost)
        assert sum(attempt.losses.values()) == len(attempt.lost)
        assert attempt.unfinished() == present - done
        reason = await court.outcome()
        assert (reason is None) == (failure is None)
        if reason is not None and "nobody" not in reason:
            assert f"c{failure} served others" in reason

    asyncio.run(go())


@asynccontextmanager
async def waiting(court, done, late, seconds=NEVER):
    """Somebody waits for something during this."""
    wait = asyncio.create_task(court.attempt.wait(done, seconds, late, "a phase"))
    await asyncio.sleep(0)
    yield wait
    await asyncio.gather(wait, return_exceptions=True)


def test_waiting_ends_when_all_have_come():
    async def go():
        court = Court([0, 0, 2])
        attempt = court.attempt
        late = lambda: attempt.present - attempt.ready  # noqa: E731
        async with waiting(court, lambda: attempt.present <= attempt.ready, late) as wait:
            for n in (2, 0):
                attempt.on_ready(n)
                await asyncio.sleep(0)
                assert not wait.done()
            attempt.lose(1, "it is gone")  # who is lost is not waited for
            await wait
        assert attempt.lost == {1: "it is gone"}

    asyncio.run(go())


def test_an_attempt_that_is_given_up_ends_all_waiting_with_the_first_reason():
    async def go():
        court = Court([0, 0])
        async with waiting(court, lambda: False, set) as wait:
            court.attempt.give_up("the disk is full")
            court.attempt.give_up("another reason")
            with pytest.raises(RoundLost, match="the disk is full"):
                await wait

    asyncio.run(go())


@pytest.mark.parametrize(
    ("late", "lost", "reason"),
    [
        ({1}, {1}, None),
        ({3}, {3}, None),
        ({0, 1, 2}, {0, 1, 2}, None),  # a whole group, though one of them serves it
        ({0}, {0}, "c0 served others and is lost: a phase took longer than 0.0 s"),
        ({0, 1}, {0, 1}, "c0 served others and is lost: a phase took longer than 0.0 s"),
        (set(), {0, 1, 2, 3}, "nobody is left"),  # nobody knows who: they all are
    ],
)
def test_who_is_late_is_lost_and_the_others_go_on(late, lost, reason):
    async def go():
        court = Court([0, 0, 0, 3])
        attempt = court.attempt
        work = attempt.wait(lambda: bool(attempt.lost), AT_ONCE, lambda: late, "a phase")
        if reason is None:
            await work
        else:
            with pytest.raises(RoundLost, match=reason):
                await work
        assert set(attempt.lost) == attempt.late == lost
        assert attempt.losses == {"late": len(lost)}

    asyncio.run(go())


def test_those_who_only_waited_for_the_late_ones_get_as_long_again():
    async def go():
        court = Court([0, 1, 2])
        attempt = court.attempt
        asked = []

        def late():
            asked.append(sorted(attempt.present))
            return {max(attempt.present)}

        await attempt.wait(lambda: len(attempt.present) == 1, AT_ONCE, late, "an epoch")
        assert asked == [[0, 1, 2], [0, 1]]
        assert attempt.present == {0}

    asyncio.run(go())


def test_a_device_is_done_with_its_own_layers_and_those_it_trained_for_itself():
    court = Court([0, 0])
    attempt = court.attempt
    message = Finished(round=TAG[0], attempt=TAG[1], loss=1.0, sent={})
    attempt.on_finished(1, message)
    attempt.on_upload("client", [1])
    assert not attempt.is_done(1)
    attempt.on_upload("aggregator", [0, 1])
    assert attempt.is_done(1)
    assert attempt.unfinished() == {0}
    attempt.on_finished(1, message.model_copy(update={"loss": 2.0}))
    assert attempt.finished[1].loss == 1.0  # the first word counts


# ----------------------------------------------------------------------------------------- rewind


OPTIMISERS = {
    "sgd": Optimiser("sgd", 0.01, momentum=0.9),
    "adam": Optimiser("adam", 0.01),
}


@cache
def run_attempts(kind, numbers):
    """A model after the rounds with these numbers; where one comes again, it starts again.

    What every round starts from and the batches that were had are the server's to put back; the
    optimisers' state is what `Rewind` is for.
    """
    work = task(optimiser=OPTIMISERS[kind], sizes=(5, 3), epochs=1)
    engine = reference(work)
    engine.common.duties(0, 2, 3, 0)  # makes the head, as the first round would
    rewind = Rewind(engine.hosts, engine.common.prototypes)
    starts = {}
    for number in numbers:
        state = {place: value.clone() for place, value in engine.common.to_state().items()}
        state, steps = starts.setdefault(number, (state, list(engine.steps)))
        engine.common.load_state(state)
        engine.steps = list(steps)
        rewind.start(number)
        engine.run_round(whole(work, number))
    return engine.weights()


@pytest.mark.parametrize("kind", OPTIMISERS)
@settings(max_examples=5, deadline=None)
@given(again=st.tuples(*[st.integers(1, 2)] * 3), back=st.booleans())
def test_a_round_that_starts_again_ends_as_if_it_had_started_once(kind, again, back):
    """Also the round before: a server that was killed may not have saved it."""
    numbers = [n for n, times in enumerate(again) for _ in range(times)] + [1, 2] * back
    once = run_attempts(kind, (0, 1, 2))
    assert distance(run_attempts(kind, tuple(numbers)), once) == 0.0


def test_a_run_that_starts_over_forgets_what_was():
    work = task(optimiser=Optimiser("adam", 0.01), sizes=(5, 4, 3), epochs=1)
    engine = reference(work)
    rewind = Rewind(engine.hosts, engine.common.prototypes)
    for number in (5, 6):
        rewind.start(number)
        engine.run_round(whole(work, number))
    assert any(torch.any(value != 0) for host in engine.hosts for _, value in host.moments())
    rewind.start(0)
    assert not [key for host in engine.hosts for key, _ in host.moments()]
