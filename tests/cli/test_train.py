import json
import signal
import subprocess
import sys
import time

import pytest

from tests.train.instances import lines, repeatable
from tiercut.errors import MissingError

SCENARIO = """
name = "a small one / twice"
[model]
name = "small"
[fleet]
clients = 5
examples = 12
strong_fraction = 0.4
weak = "50 MFLOP/s"
rates = ["2 Mbps", "6 Mbps"]
[training]
batch = 4
epochs = 2
rounds = 3
[engine]
threads = 1
device = "cpu"
"""
EVENT = '[[events]]\nround = 2\nclients = ["client-2"]\nleave = true\n'
LONG = SCENARIO.replace("rounds = 3", "rounds = 100000")


@pytest.fixture
def scenario(tmp_path):
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO)
    return path


def test_a_run_goes_into_a_folder_named_after_scenario_and_scheme(tiercut, scenario, tmp_path):
    ran = tiercut("train", scenario)
    folder = tmp_path / "runs" / "a-small-one-twice-aa-hsfl-ll"
    assert len(lines(folder)) == 3
    assert "3 rounds: accuracy" in ran.stdout
    assert "everything is in runs/a-small-one-twice-aa-hsfl-ll" in ran.stdout
    assert [line.partition(":")[0] for line in ran.stderr.splitlines()] == [
        "round 1/3",
        "round 2/3",
        "round 3/3",
    ]
    assert "virtual" in ran.stderr


def test_json_is_the_summary_and_nothing_else(as_json, scenario, tmp_path):
    found = as_json("train", scenario, "-o", "run", "--scheme", "locsfl", "--rounds", 2)
    written = lines(tmp_path / "run")
    assert found == {
        "version": 1,
        "folder": "run",
        "rounds": 2,
        "new_rounds": 2,
        "accuracy": written[-1]["accuracy"],
        "best_accuracy": max(line["accuracy"] for line in written),
        "best_round": found["best_round"],
        "seconds": written[-1]["seconds"],
        "bytes": written[-1]["bytes"],
    }


def test_options_win_over_the_scenario(tiercut, scenario, tmp_path):
    options = "--seed 4 --engine reference --precision fp64 --device cpu --executor threads"
    tiercut("train", scenario, "-o", "run", "--rounds", 1, "--threads", 2, *options.split())
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert (manifest["seed"], manifest["engine"], manifest["precision"]) == (4, "reference", "fp64")
    assert manifest["scenario"]["engine"]["threads"] == 2
    assert manifest["command"][0] == "tiercut"


def test_a_run_is_resumed_extended_and_then_finished(tiercut, refusal, scenario, tmp_path):
    words = ("train", scenario, "-o", "run")
    tiercut(*words, "--rounds", 1)
    assert "--resume" in refusal(*words)
    assert "not both" in refusal(*words, "--resume", "--overwrite")
    went_on = tiercut(*words, "--resume")
    assert "going on after round 1" in went_on.stderr
    assert "is finished" in tiercut(*words, "--resume").stdout
    tiercut("train", scenario, "-o", "whole")
    assert repeatable(tmp_path / "run") == repeatable(tmp_path / "whole")
    tiercut(*words, "--overwrite", "--rounds", 1)
    assert len(lines(tmp_path / "run")) == 1


def test_a_plan_file_is_trained_by(tiercut, as_json, scenario, tmp_path):
    fixed = ("--solver", "hsfl-ll", "--aggregator-layer", 2, "--cuts", 4, "--lambda", "40%")
    tiercut("plan", scenario, *fixed, "-o", "plan.json")
    as_json("train", scenario, "--plan", "plan.json", "-o", "run", "--rounds", 1)
    (line,) = lines(tmp_path / "run")
    assert (line["aggregator_layer"], line["cut_layer"], line["aggregators"]) == (2, 4, 2)
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["scheme"] == "hsfl-ll"


def test_an_event_is_told(tiercut, scenario):
    scenario.write_text(SCENARIO + EVENT)
    said = tiercut("train", scenario, "--rounds", 2).stderr
    assert "the fleet changed before round 2, client-2 left: a round of the new plan takes" in said


def test_what_is_wrong_is_said_before_anything_is_written(refusal, scenario, tmp_path):
    assert "did you mean 'locsfl'" in refusal("train", scenario, "--scheme", "locsf")
    assert "rounds is 0" in refusal("train", scenario, "--rounds", 0)
    engines = "expected 'stacked', 'ray', 'reference' or 'net'"
    assert engines in refusal("train", scenario, "--engine", "x")
    assert "executor is graph" in refusal("train", scenario, "--executor", "graph")
    assert "there is no tracker 'x'" in refusal("train", scenario, "--track", "x")
    assert "there is no such file" in refusal("train", scenario, "--plan", "nope.json")
    scenario.write_text(SCENARIO + '[data]\nname = "mnist"\n')
    words = ("train", scenario, "--data-dir", tmp_path)
    assert "tiercut data get mnist" in refusal(*words, error=MissingError)
    assert not (tmp_path / "runs").exists()


def test_a_tracker_hears_of_the_run(tiercut, scenario, tmp_path):
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    tiercut("train", scenario, "-o", "run", "--rounds", 1, "--track", "tensorboard")
    assert list((tmp_path / "run" / "tensorboard").iterdir())


def test_whoever_stops_a_run_is_told_how_it_goes_on(tiercut, scenario, monkeypatch, capsys):
    from tiercut.cli import Interrupted
    from tiercut.train import loop

    def interrupted(*_, **__):
        raise Interrupted

    tiercut("train", scenario, "-o", "run", "--rounds", 1)
    monkeypatch.setattr(loop, "run", interrupted)
    words = ["train", str(scenario), "-o", "run", "--overwrite"]
    monkeypatch.setattr(sys, "argv", ["tiercut", *words])
    with pytest.raises(Interrupted):
        tiercut(*words)


def test_a_damaged_checkpoint_is_told(tiercut, scenario, tmp_path):
    words = ("train", scenario, "-o", "run", "--rounds")
    tiercut(*words, 2)
    (tmp_path / "run" / "checkpoints" / "round-000002.safetensors").write_bytes(b"")
    said = tiercut(*words, 3, "--resume").stderr
    assert "round-000002.safetensors: this checkpoint cannot be read" in said
    assert "going on after round 1" in said


def start(tmp_path, *words, rounds=0):
    """A training that will not end by itself; returns once more rounds are on the disk."""
    running = subprocess.Popen(
        [sys.executable, "-m", "tiercut", "train", *words],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    path = tmp_path / "run" / "rounds.jsonl"
    while not path.exists() or path.read_bytes().count(b"\n") <= rounds:
        assert running.poll() is None, running.communicate()
        time.sleep(0.01)
    return running


def test_ctrl_c_says_how_to_go_on_and_a_kill_loses_nothing_either(tiercut, scenario, tmp_path):
    scenario.write_text(LONG)
    words = ("scenario.toml", "-o", "run")
    running = start(tmp_path, *words, "--overwrite")
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    *_, how, last = said.splitlines()
    assert how.startswith("tiercut: `tiercut train scenario.toml -o run --resume` goes on")
    assert last.startswith("tiercut: interrupted")
    running = start(tmp_path, *words, "--resume", rounds=len(lines(tmp_path / "run")))
    running.kill()
    running.communicate(timeout=60)
    rounds = len(lines(tmp_path / "run")) + 1
    tiercut("train", *words, "--resume", "--rounds", rounds)
    tiercut("train", "scenario.toml", "-o", "whole", "--rounds", rounds)
    assert repeatable(tmp_path / "run") == repeatable(tmp_path / "whole")


def test_on_a_terminal_a_line_lives(tiercut, scenario, tmp_path, monkeypatch):
    import rich.console

    shown = tmp_path / "shown.txt"
    with shown.open("w") as file:
        console = rich.console.Console(force_terminal=True, width=160, file=file)
        monkeypatch.setattr(rich.console, "Console", lambda **_: console)
        tiercut("train", scenario, "-o", "run", "--rounds", 1)
        tiercut("train", scenario, "-o", "run", "--rounds", 2, "--resume")
    text = shown.read_text()
    assert "round 1/1 epoch 2/2" in text
    assert "round 2/2" in text
    assert "virtual" in text
    assert "going on after round 1" in text
