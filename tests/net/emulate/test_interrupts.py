"""Ctrl-C waits for the clearing up, and is then heard."""

import signal
import threading

import pytest

from tiercut.net.emulate.interrupts import uninterrupted


def test_ctrl_c_is_heard_afterwards():
    done = []

    def work():
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            done.append("all")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["all"]


def test_the_handler_is_as_before():
    before = signal.getsignal(signal.SIGINT)
    with uninterrupted():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before


def test_other_threads_need_no_care():
    done = []

    def work():
        with uninterrupted():
            done.append("all")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == ["all"]
