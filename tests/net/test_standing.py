"""What each device is at, whatever has happened in the round so far."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from tests.net.test_crew_attempt import Court, Guest, end, groups
from tiercut.net.crew import Crew
from tiercut.net.standing import devices_now

THINGS = st.sampled_from(["ready", "finish", "lose", "leave"])


@given(groups(), st.data())
def test_every_device_is_told_once_with_its_part_and_how_far_it_is(served_by, data):
    async def go():
        court, crew = Court(served_by), Crew()
        guests = {f"c{n}": Guest(f"c{n}").join() for n in range(len(served_by))}
        for guest in guests.values():
            await crew.add(guest.peer)
        attempt = court.attempt
        for client, thing in data.draw(
            st.lists(st.tuples(st.sampled_from(range(len(served_by))), THINGS))
        ):
            if thing == "ready":
                attempt.on_ready(client)
            elif thing == "finish":
                court.finish(client)
            elif thing == "lose":
                attempt.lose(client, f"reason {client}")
            else:
                await crew.remove(guests[f"c{client}"].peer)
        devices = devices_now(crew, guests, attempt)
        assert [device.name for device in devices] == sorted(guests)
        assert sum(d.serves for d in devices) == sum(d.served_by is not None for d in devices)
        for n, device in enumerate(devices):
            assert device.served_by == (None if served_by[n] == n else f"c{served_by[n]}")
            assert (device.reason is not None) == (n in attempt.lost)
            assert device.at == expected(n, attempt, device.name in crew.peers)
        await end(*guests.values())

    asyncio.run(go())


def expected(client, attempt, connected):
    """The same, from the point of view of the attempt."""
    if not connected:
        return "absent"
    if client not in attempt.present:
        return "lost"
    if client not in attempt.unfinished():
        return "finished"
    if attempt.present - attempt.ready:
        return "ready" if client in attempt.ready else "preparing"
    return "training"


def test_who_has_no_part_in_a_round_waits_for_the_next_or_has_still_to_join():
    async def go():
        crew, half, whole = Crew(), Guest("half"), Guest("whole").join()
        await crew.add(half.peer)
        await crew.add(whole.peer)
        for attempt in (None, Court([0]).attempt):
            devices = devices_now(crew, ["gone", "whole"], attempt)
            assert [(d.name, d.at) for d in devices] == [
                ("gone", "absent"),
                ("half", "connected"),
                ("whole", "waiting"),
            ]
            assert {d.role for d in devices} == {None}
        await end(half, whole)

    asyncio.run(go())
