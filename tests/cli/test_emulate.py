"""A scenario on hosts of this machine, from its fleet to rounds whose seconds were measured."""

import os
import tempfile
from pathlib import Path

import pytest

from tiercut.errors import MissingError
from tiercut.net.emulate.obstacle import obstacle
from tiercut.train.folder import RunFolder

SCENARIO = """
name = "trio"
[model]
name = "small"
[fleet]
clients = 3
examples = 16
strong_fraction = 0.34
weak = "1 GFLOP/s"
gamma = 4
server = "4 GFLOP/s"
[training]
batch = 8
epochs = 1
rounds = 1
optimiser = "sgd"
rate = 0.05
[plan]
cost = "network"
cuts = [5]
"""


@pytest.fixture
def scenario(tmp_path):
    path = tmp_path / "trio.toml"
    path.write_text(SCENARIO)
    return path


@pytest.fixture(scope="module")
def emulation():
    reason = obstacle()
    if reason is not None:
        pytest.skip(reason)


@pytest.mark.usefixtures("emulation")
def test_three_devices_train_and_move_what_was_predicted(as_json, scenario, tmp_path):
    found = as_json("emulate", scenario, "-o", "run")
    folder = RunFolder(tmp_path / "run")
    (only,) = found["rounds"]
    assert found["folder"] == "run"
    assert only["predicted_bytes"] == only["measured_bytes"]
    assert only["wire_bytes"] > 0
    assert only["attempts"] == 1
    assert only["ratio"] == only["measured"]["round"] / only["predicted"]["round"]
    assert found["speed"] > 0
    assert found["rate"] > 0
    logs = {path.name for path in (folder.path / "nodes").iterdir()}
    assert logs == {"client-1.log", "client-2.log", "client-3.log", "server.log"}
    assert all(path.exists() for path in (folder.fleet, folder.profile, folder.log, folder.model))
    assert not list(Path(tempfile.gettempdir()).glob(f"tiercut-{os.getpid()}-*"))


def test_more_cores_than_there_are_cannot_be_shared_out(refusal, scenario):
    assert "--cores is 9999; expected more than 0, and at most" in refusal(
        "emulate", scenario, "--cores", 9999
    )


def test_a_folder_with_a_run_is_kept(refusal, scenario, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "manifest.json").write_text("{}")
    assert "run holds a run already" in refusal("emulate", scenario, "-o", "run")


def test_a_machine_that_cannot_says_why(refusal, scenario, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    message = refusal("emulate", scenario, error=MissingError)
    assert message.startswith("ip is not on this machine")
