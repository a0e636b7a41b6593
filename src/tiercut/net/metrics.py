"""A server's status as metrics for Prometheus, for programs on the same machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tiercut.errors import InputError, MissingError
from tiercut.net.status import Status
from tiercut.train.record import RealRound

try:
    from prometheus_client import CollectorRegistry, start_http_server
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
    from prometheus_client.metrics_core import Metric
    from prometheus_client.registry import Collector
except ModuleNotFoundError:  # pragma: no cover - the tests have it
    raise MissingError(
        "metrics need the package prometheus-client; install it with `pip install 'tiercut[net]'`"
    ) from None

HOST = "127.0.0.1"
"""Who may ask needs no certificate, and must therefore be on this machine."""


@contextmanager
def serving_metrics(port: int, ask_status: Callable[[], Status]) -> Iterator[str]:
    """Tell the metrics at a port of loopback; gives the address. `ask_status` is for any thread."""
    registry = CollectorRegistry()
    registry.register(_Metrics(ask_status))
    try:
        server, thread = start_http_server(port, HOST, registry)
    except OSError as problem:
        raise InputError(
            f"metrics cannot be told at {HOST}:{port}: {problem.strerror}; give another port with"
            f" --metrics"
        ) from None
    try:
        yield f"http://{HOST}:{server.server_port}/metrics"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Metrics(Collector):
    """Asks for the status whenever somebody wants the metrics."""

    def __init__(self, ask_status: Callable[[], Status]) -> None:
        self._ask_status = ask_status

    def collect(self) -> Iterator[Metric]:
        status = self._ask_status()
        yield from _rounds(status)
        yield from _devices(status)
        yield _by("tiercut_lost_clients", "Clients lost in rounds.", "kind", status.losses)
        yield _by("tiercut_refusals", "What was refused.", "kind", status.refusals)
        yield _by("tiercut_bytes", "Bytes sent in rounds.", "tier", status.bytes.model_dump())


def _rounds(status: Status) -> Iterator[Metric]:
    yield CounterMetricFamily("tiercut_rounds", "Rounds trained.", value=status.trained)
    yield CounterMetricFamily(
        "tiercut_attempts",
        "Attempts at rounds that have ended, well or not.",
        value=status.trained + status.restarts,
    )
    yield GaugeMetricFamily("tiercut_rounds_accepted", "Of the run, now.", value=status.done)
    yield GaugeMetricFamily("tiercut_rounds_planned", "Of the run.", value=status.rounds)
    if status.last is None:
        return
    yield GaugeMetricFamily(
        "tiercut_accuracy", "Of the last round, from 0 to 1.", value=status.last.accuracy
    )
    if status.last.real is not None:
        yield _seconds(status.last.real)


def _seconds(real: RealRound) -> Metric:
    family = GaugeMetricFamily(
        "tiercut_round_seconds",
        "The last round's phases, and as `round` all of it.",
        labels=("phase", "source"),
    )
    for source, phases in (("predicted", real.predicted), ("measured", real.measured)):
        for phase, seconds in phases.model_dump().items():
            family.add_metric((phase, source), seconds)
    return family


def _devices(status: Status) -> Iterator[Metric]:
    at = GaugeMetricFamily("tiercut_devices", "Devices, by what they are at.", labels=("at",))
    for activity, count in Counter(device.at for device in status.devices).items():
        at.add_metric((activity,), count)
    yield at
    yield GaugeMetricFamily(
        "tiercut_devices_connected",
        "Devices that are connected.",
        value=sum(device.at != "absent" for device in status.devices),
    )
    silent = GaugeMetricFamily(
        "tiercut_device_silent_seconds", "Since its last sign of life.", labels=("device",)
    )
    for device in status.devices:
        if device.silent is not None:
            silent.add_metric((device.name,), device.silent)
    yield silent


def _by(name: str, says: str, label: str, counts: dict[str, int] | dict[str, float]) -> Metric:
    family = CounterMetricFamily(name, says, labels=(label,))
    for key, count in sorted(counts.items()):
        family.add_metric((key,), count)
    return family
