"""Metrics over real HTTP: what Prometheus reads is what the status tells."""

import socket
import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.net.instances import status
from tests.net.processes import wait_until
from tests.net.site import running, scenario
from tiercut.errors import InputError
from tiercut.net.metrics import HOST, serving_metrics


def scraped(address):
    """The samples of every name, by their labels' values."""
    with urllib.request.urlopen(address, timeout=30) as answer:
        text = answer.read().decode()
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(sample.labels.values())] = sample.value
    return found


def test_every_figure_of_the_status_is_there():
    with serving_metrics(0, status) as address:
        found = scraped(address)
    assert found["tiercut_rounds_total"] == {(): 5}
    assert found["tiercut_attempts_total"] == {(): 7}
    assert found["tiercut_rounds_accepted"] == {(): 11}
    assert found["tiercut_rounds_planned"] == {(): 40}
    assert found["tiercut_accuracy"] == {(): 0.625}
    assert found["tiercut_round_seconds"]["round", "predicted"] == 10.0
    assert found["tiercut_round_seconds"]["training", "measured"] == 9.0
    assert len(found["tiercut_round_seconds"]) == 8
    assert found["tiercut_devices"] == {("training",): 2, ("lost",): 1, ("absent",): 1}
    assert found["tiercut_devices_connected"] == {(): 3}
    assert set(found["tiercut_device_silent_seconds"]) == {("pi-1",), ("pi-2",), ("pi-3",)}
    assert found["tiercut_lost_clients_total"] == {("gone",): 2, ("late",): 1}
    assert found["tiercut_refusals_total"] == {("caller",): 7}
    assert found["tiercut_bytes_total"]["between",] == 5e6
    assert len(found["tiercut_bytes_total"]) == 3


def test_before_the_first_round_there_is_no_accuracy():
    simulated = status().last.model_copy(update={"real": None})
    for last, names in ((None, set()), (simulated, {"tiercut_accuracy"})):
        with serving_metrics(0, lambda last=last: status(last=last)) as address:
            found = scraped(address)
        assert found.keys() & {"tiercut_accuracy", "tiercut_round_seconds"} == names


def test_metrics_follow_a_running_site():
    with (
        running(scenario(), joining=False) as site,
        serving_metrics(0, site.site.ask_status) as address,
    ):
        assert scraped(address)["tiercut_devices_connected"] == {(): 0}
        site.join("client-1")
        wait_until(lambda: scraped(address).get("tiercut_devices") == {("waiting",): 1})
        assert scraped(address)["tiercut_rounds_total"] == {(): 0}


def test_they_are_for_this_machine_alone_and_end_with_the_run():
    with serving_metrics(0, status) as address:
        host, port = address.removeprefix("http://").removesuffix("/metrics").split(":")
        assert host == HOST == "127.0.0.1"
        with socket.create_connection((host, int(port))):
            pass
        with (
            pytest.raises(InputError, match="give another port with --metrics"),
            serving_metrics(int(port), status),
        ):
            pass
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)))
