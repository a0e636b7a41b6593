"""Ray is joined or started where it is there, and asked for where it is not."""

import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from tiercut.cluster.connect import connected, passing_ctrl_c
from tiercut.errors import InputError, MissingError


def test_without_ray_one_is_told_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingError, match=r"pip install 'tiercut\[ray\]'"), connected():
        pass


@pytest.mark.parametrize("address", ["127.0.0.1:1", "here", "ray://127.0.0.1:1"])
def test_a_cluster_that_is_not_there_is_not_waited_for(address):
    with (
        pytest.raises(InputError, match=f"no Ray cluster can be joined at '{address}'"),
        connected(address),
    ):
        pass


# ---------------------------------------------------------------------------------------- Ctrl-C


class Stopped(BaseException):
    """What a program of its own makes of Ctrl-C."""


@pytest.fixture
def handler():
    def stop(*_):
        raise Stopped

    usual = signal.signal(signal.SIGINT, stop)
    yield stop
    signal.signal(signal.SIGINT, usual)


def test_ctrl_c_is_pythons_own_inside_and_the_programs_outside(handler):
    def press():
        with passing_ctrl_c():
            with pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGINT)
            raise KeyboardInterrupt

    with pytest.raises(Stopped):
        press()
    assert signal.getsignal(signal.SIGINT) is handler


def test_where_ctrl_c_is_not_ours_it_stays_as_it_is(handler):
    def find():
        with passing_ctrl_c():
            return signal.getsignal(signal.SIGINT)

    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(find).result() is handler
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    assert find() is signal.SIG_IGN
