"""What an operator has of `tiercut serve`: metrics, a log that programs can read, and a report."""

import asyncio
import json
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.net.instances import FLEET, make_known
from tests.net.processes import LONGEST, free_port, wait_until
from tests.net.site import scenario, shards_of
from tests.net.test_metrics import scraped
from tiercut.cli import app
from tiercut.data import load
from tiercut.net.device import Device, Place
from tiercut.net.logs import Log
from tiercut.net.streams import Insecure
from tiercut.train.folder import RunFolder

SCENARIO = """
name = "net"
[model]
name = "small"
[fleet]
clients = 1
[training]
batch = 8
epochs = 1
rounds = 2
[plan]
cost = "network"
"""


class Ran(NamedTuple):
    folder: Path
    stdout: str
    stderr: str
    metrics: dict
    """From before the device was there."""


class Serving:
    """`tiercut serve WORDS`, on a thread that no failing test has to wait for."""

    def __init__(self, *words):
        self.result = None
        self._thread = Thread(target=self._serve, args=[[*map(str, words)]], daemon=True)
        self._thread.start()

    def _serve(self, words):
        self.result = CliRunner().invoke(app, ["serve", *words])

    def end(self):
        """What it came to."""
        self._thread.join(LONGEST)
        assert self.result is not None, "it does not end"
        return self.result


async def join(address, own):
    """Be `tiercut join`."""
    place, security = Place(address, "127.0.0.1:0"), Insecure("client-1")
    await Device(security, place, lambda classes, shape: own, Log()).run()


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """A server that has trained with one device: its folder, what it said, and its metrics."""
    base = tmp_path_factory.mktemp("operator")
    (base / "scenario.toml").write_text(SCENARIO)
    work = scenario(clients=1)
    own = shards_of(work, load(work.data, None))["client-1"]
    folder = make_known(base / "run", FLEET.subset(np.array([0])))
    address, port = f"127.0.0.1:{free_port()}", free_port()
    words = ("--insecure", "--scheme", "sfl", "--resume", "-o", folder)
    words += ("--listen", address, "--metrics", port)
    log = RunFolder(folder).log
    serving = Serving(base / "scenario.toml", *words)
    wait_until(lambda: log.exists() and '"metrics"' in log.read_text())
    metrics = scraped(f"http://127.0.0.1:{port}/metrics")
    asyncio.run(join(address, own))
    result = serving.end()
    assert result.exit_code == 0, result.output
    return Ran(folder, result.stdout, result.stderr, metrics)


def test_metrics_are_there_from_the_start(ran):
    assert ran.metrics["tiercut_rounds_planned"] == {(): 2}
    assert ran.metrics["tiercut_devices_connected"] == {(): 0}


def test_standard_error_is_the_log_and_nothing_else(ran):
    lines = [json.loads(line) for line in RunFolder(ran.folder).log.read_text().splitlines()]
    assert [line["event"] for line in lines] == [
        *("listening", "metrics", "connected", "joined", "training"),
        *("round over", "round over", "left"),
    ]
    assert lines[-1]["level"] == "info"
    assert lines[-1]["reason"] == "training is over"
    assert [json.loads(line) for line in ran.stderr.splitlines()] == lines
    assert ran.stdout.startswith("2 rounds: accuracy")


def test_a_report_has_what_was_predicted_and_what_was_measured(ran, tmp_path):
    page = tmp_path / "report.html"
    words = ["report", str(ran.folder), "-o", str(page), "--json"]
    told = json.loads(CliRunner().invoke(app, words).stdout)
    (note,) = told["notes"]  # the fleet and a batch are drawn
    assert "known to the devices alone" in note
    assert "Predicted and measured" in page.read_text()
