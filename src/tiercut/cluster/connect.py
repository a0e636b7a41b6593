"""Ray, joined or started for as long as it is needed, and quiet; an optional extra."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from tiercut.errors import InputError, MissingError

QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    # Ray writes what happens to workers on standard output, where a script expects our JSON.
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".*",
    # Where several workers fail alike, the first failure is raised and the others are not news.
    "RAY_IGNORE_UNHANDLED_ERRORS": "1",
}
"""Settings that Ray reads when it is imported; a user's own win."""
FOUND_BY_RAY = "auto"
"""The address of the cluster that this machine is part of, whichever that is."""
PATIENCE = 10
"""Seconds for a cluster to answer."""


@contextmanager
def connected(address: str | None = None) -> Iterator[None]:
    """Ray for the time of a block: the cluster at an address, or one on this machine alone.

    What was started here ends with the block, and so does all that the block began on a cluster. A
    process that is part of a cluster already keeps to it, whatever the address.
    """
    ray = _find_ray()
    if ray.is_initialized():
        yield
        return
    with passing_ctrl_c():
        _connect(ray, address)
        try:
            yield
        finally:
            ray.shutdown()


def machines() -> list[dict[str, float]]:
    """What every machine of the cluster has, such as CPU, GPU and memory."""
    import ray

    return [node["Resources"] for node in ray.nodes() if node["Alive"]]


def _find_ray() -> ModuleType:
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError:
        raise MissingError(
            "Ray is not installed; install it with: pip install 'tiercut[ray]'"
        ) from None
    return ray


def _connect(ray: ModuleType, address: str | None) -> None:
    options = {"logging_level": logging.ERROR, "log_to_driver": False}
    if address is None:
        ray.init("local", include_dashboard=False, **options)
        return
    try:
        _knock(address)
        ray.init(address, **options)
    except (OSError, ValueError, RuntimeError) as problem:
        reason = str(problem).partition("\n")[0]
        raise InputError(
            f"no Ray cluster can be joined at {address!r} ({reason}); give the address that"
            f" `ray start --head` shows, such as 192.0.2.1:6379, and run tiercut on a machine of"
            f" that cluster"
        ) from None


def _knock(address: str) -> None:
    """Refuse an address where nobody answers: Ray itself goes on asking for five minutes."""
    if address == FOUND_BY_RAY:
        return
    host, _, port = address.rpartition(":")
    if not port.isdecimal():
        raise ValueError("that is no HOST:PORT")
    with socket.create_connection((host, int(port)), PATIENCE):
        pass


@contextmanager
def passing_ctrl_c() -> Iterator[None]:
    """A block that Ctrl-C ends as Python itself has it, and then as this program has it.

    While Ray waits, it lets KeyboardInterrupt pass and swallows whatever else a handler raises.
    """
    usual = signal.getsignal(signal.SIGINT)
    if not callable(usual) or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        usual(signal.SIGINT, None)
        raise
    finally:
        signal.signal(signal.SIGINT, usual)
