"""`tiercut probe`: from a scenario to candidate cuts, and on to a plan."""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.probe.instances import found
from tiercut.documents import to_json
from tiercut.probe import run

SCENARIO = """name = "x"
[model]
name = "small"
[fleet]
clients = 6
examples = 40
[training]
batch = 16
rate = 5e-3
[probe]
clients = 2
epochs = 2
held_out = 100
"""


@pytest.fixture
def scenario(tmp_path):
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO)
    return path


@pytest.fixture
def made(tmp_path):
    """The file of a probe of `small` whose cuts 3 to 6 have 90, 95, 94.2 and 50 %."""

    def write(table=None, **changes):
        path = tmp_path / "made.json"
        table = table or [[[score, score]] for score in (0.9, 0.95, 0.942, 0.5)]
        path.write_text(to_json(found(table, **changes).to_dict()))
        return path

    return write


def test_a_probe_is_shown_and_written(tiercut, scenario, tmp_path):
    ran = tiercut("probe", scenario, "--device", "cpu", "-o", "p.json", "--plot", "cuts.svg")
    words = " ".join(ran.stdout.split())
    assert "small: 2 clients, 2 epochs" in words
    assert "measured on 100 held-out examples; kept: " in words
    assert "wrote p.json" in ran.stderr
    assert "wrote cuts.svg" in ran.stderr
    value = json.loads((tmp_path / "p.json").read_text())
    assert value["cuts"] == [3, 4, 5, 6]
    assert value["missing"] == []
    assert len(value["accuracy"]) == len(value["spread"]) == 4
    assert f"plan with --cuts {','.join(map(str, value['candidates']))}" in words


def test_options_win_over_the_scenario(as_json, scenario):
    options = (
        "--cuts 2,5 --clients 3 --epochs 1 --threshold 7 --seed 3 --precision fp64 --threads 1"
    )
    value = as_json("probe", scenario, *options.split())
    assert (value["cuts"], value["epochs"], value["threshold"], value["seed"]) == ([2, 5], 1, 7, 3)
    assert len(value["clients"]) == 3


def test_the_same_probe_is_not_trained_twice(tiercut, as_json, refusal, scenario, monkeypatch):
    first = as_json("probe", scenario, "--cuts", "3", "-o", "p.json")
    grown = as_json("probe", scenario, "--cuts", "3,4", "-o", "p.json")
    assert grown["cuts"] == [3, 4]
    assert grown["accuracy"][0] == first["accuracy"][0]
    monkeypatch.delattr(run, "try_cuts")
    assert as_json("probe", scenario, "--cuts", "4", "-o", "p.json") == grown
    tiercut("probe", scenario, "--cuts", "3-4", "--threshold", "50", "-o", "p.json")
    message = refusal("probe", scenario, "--epochs", 1, "-o", "p.json")
    assert "differs in its epochs; write to another file" in message


def test_a_file_that_is_no_probe_is_not_overwritten(refusal, scenario, tmp_path):
    (tmp_path / "p.json").write_text("{")
    assert "this is not JSON" in refusal("probe", scenario, "-o", "p.json")
    assert (tmp_path / "p.json").read_text() == "{"


def test_a_pipe_is_given_the_result_once(as_json, scenario, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with ThreadPoolExecutor(1) as reader:
        text = reader.submit((tmp_path / "pipe").read_text)
        value = as_json("probe", scenario, "--cuts", "3,4", "--epochs", 1, "-o", "pipe")
        assert json.loads(text.result(timeout=10)) == value


def test_another_threshold_needs_no_training(tiercut, as_json, made, monkeypatch):
    monkeypatch.delattr(run, "try_cuts")
    assert as_json("probe", "--from", made())["candidates"] == [4, 5]
    assert as_json("probe", "--from", made(), "--threshold", 0.5)["candidates"] == [4]
    assert "plan with --cuts 3,4,5\n" in tiercut("probe", "--from", made(), "--threshold", 5).stdout
    tiercut("probe", "--from", made(), "--threshold", 45, "-o", "chosen.json")
    assert as_json("probe", "--from", "chosen.json")["candidates"] == [3, 4, 5, 6]


def test_guessing_is_called_guessing(tiercut, made):
    warning = "no cut is much better than guessing 1 of 100 classes"
    assert warning not in tiercut("probe", "--from", made(classes=100)).stdout
    guessed = made(classes=100, table=[[[0.02, 0.03]]])
    assert warning in tiercut("probe", "--from", guessed).stdout


def test_what_is_missing_is_said(tiercut, made):
    assert "cuts 7, 8 were not tried yet" in tiercut("probe", "--from", made(missing=(7, 8))).stdout


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--cuts 7", "cut layer 7 is outside 1 to 6"),
        ("--cuts 0", "cut layer 0 is outside 1 to 6"),
        ("--cuts deep", "is no list of layers"),
        ("--clients 0", "probe.clients is 0"),
        ("--epochs 0", "probe.epochs is 0"),
        ("--threshold=-1", "probe.threshold is -1"),
        ("--threshold nan", "probe.threshold is NaN"),
        ("--seed=-1", "seed is -1"),
        ("--precision fp33", "did you mean 'fp3"),
        ("--threads 0", "engine.threads is 0"),
        ("--device toaster", "expected auto, cpu, cuda or cuda:1"),
        ("--plot cuts.pdf", ".svg or .png"),
        ("--from p.json", "--from trains nothing; leave"),
    ],
)
def test_a_wrong_option_is_refused(refusal, scenario, options, sentence):
    assert sentence in refusal("probe", scenario, *options.split())


@pytest.mark.parametrize("option", ["--cuts 3", "--clients 3", "--seed 1", "--data-dir x"])
def test_choosing_again_takes_no_option_of_training(refusal, made, option):
    assert f"leave {option.split()[0]} away" in refusal("probe", "--from", made(), *option.split())


def test_without_scenario_and_file_there_is_nothing_to_do(refusal, made):
    assert refusal("probe") == "give a scenario file, or a probe file with --from"
    assert "there is no such file" in refusal("probe", "--from", "nowhere.json")
    assert "expected 0 percentage" in refusal("probe", "--from", made(), "--threshold=-1")


def test_nothing_to_measure_on_is_refused(refusal, scenario):
    few = SCENARIO.replace("examples = 40", "examples = 1").replace("clients = 6", "clients = 10")
    data = '[data]\nname = "synthetic:1x8x8:10:10"\n'
    scenario.write_text(few.replace("[training]", f"{data}[training]"))
    assert "no example is left to measure on" in refusal("probe", scenario, "--clients", 10)


# -------------------------------------------------------------------------------------- stopping


def test_what_was_kept_survives_ctrl_c(scenario, tmp_path):
    words = [sys.executable, "-m", "tiercut", "probe", "scenario.toml", "-o", "p.json"]
    words += ["--clients", "6", "--epochs", "24", "--threads", "1", "--device", "cpu"]
    started = subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "p.json").exists():
        assert started.poll() is None, started.stderr.read()
        time.sleep(0.01)
    os.kill(started.pid, signal.SIGINT)
    _, said = started.communicate(timeout=60)
    assert started.returncode == 130
    assert "nothing that was already written is lost" in said
    value = json.loads((tmp_path / "p.json").read_text())
    assert value["cuts"] + value["missing"] == [3, 4, 5, 6]
    assert value["missing"]


# -------------------------------------------------------------------------------------- planning


def planned(as_json, made, *options, **changes):
    words = ("plan", "--fleet", "fleet.json", "--profile", "small", "--probe", made(**changes))
    return as_json(*words, *options)["cuts"]


@pytest.fixture
def devices(tiercut):
    tiercut("fleet", "sample", "--clients", 5, "-o", "fleet.json")


def test_a_plan_takes_its_cuts_from_a_probe(as_json, made, devices):
    assert planned(as_json, made) == [4, 5]
    assert planned(as_json, made, "--threshold", 10) == [3, 4, 5]
    assert planned(as_json, made, "--cuts", "6") == [6]


def test_a_plan_leaves_cuts_out_that_its_scheme_has_no_room_for(as_json, refusal, made, devices):
    shallow = {"cuts": (1, 2, 3, 4)}
    assert planned(as_json, made, "--solver", "locsfl", **shallow) == [2, 3]
    assert planned(as_json, made, **shallow) == [3]
    words = ("plan", "--fleet", "fleet.json", "--profile", "small", "--threshold", 0)
    assert "no candidate cut is 3 or deeper" in refusal(*words, "--probe", made(**shallow))


def test_a_plan_refuses_a_probe_that_does_not_fit(refusal, made, devices):
    words = ("plan", "--fleet", "fleet.json", "--profile", "small")
    assert "give its file with --probe" in refusal(*words, "--threshold", 1)
    message = refusal(*words, "--probe", made(model="vgg11"))
    assert "is a probe of vgg11 and the plan is for small" in message
    assert "cut 7 was not tried yet" in refusal(*words, "--probe", made(missing=(7,)))
    assert "expected 0 percentage" in refusal(*words, "--probe", made(), "--threshold=-1")
