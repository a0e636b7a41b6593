"""Ctrl-C while a verb waits for the network."""

import asyncio
import signal

import pytest

from tiercut.cli import Interrupted
from tiercut.cli.event_loop import run_on_loop


async def until_interrupted(ended, how):
    try:
        how()
        await asyncio.Event().wait()
    finally:
        ended.append("in good order")


def now():
    signal.raise_signal(signal.SIGINT)


def in_a_callback():
    asyncio.get_running_loop().call_soon(now)


@pytest.mark.parametrize("how", [now, in_a_callback])
def test_ctrl_c_ends_the_work_wherever_it_is(how):
    before, ended = signal.getsignal(signal.SIGINT), []
    with pytest.raises(Interrupted):
        run_on_loop(until_interrupted(ended, how))
    assert ended == ["in good order"]
    assert signal.getsignal(signal.SIGINT) is before


def test_what_comes_of_the_work_is_given():
    assert run_on_loop(asyncio.sleep(0, "done")) == "done"
