import json
import signal
import subprocess
import sys
import time

import pytest

from tests.cli.test_train import EVENT, LONG, SCENARIO
from tiercut.errors import InputError, MissingError

TWO = ("--schemes", "sfl,aa-hsfl-ll", "--seeds", "1")


@pytest.fixture
def scenario(tmp_path):
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO.replace("rounds = 3", "rounds = 2"))
    return path


def test_a_comparison_shows_its_tables_and_goes_on_with_the_same_command(
    tiercut, as_json, scenario, tmp_path
):
    words = ("compare", scenario, *TWO, "-o", "results", "--targets", "1,100")
    ran = tiercut(*words)
    assert "a small one / twice: small on digits, 5 clients" in ran.stdout
    assert "AA HSFL-ll" in ran.stdout
    assert "100 %" in ran.stdout
    assert "saved: by AA HSFL-ll" in ran.stdout
    assert "everything is in results" in ran.stdout
    assert "sfl, seed 0: round 1/2, accuracy" in ran.stderr
    assert "aa-hsfl-ll, seed 0: round 2/2, accuracy" in ran.stderr
    again = tiercut(*words)
    assert again.stdout == ran.stdout
    assert "aa-hsfl-ll, seed 0: finished before, accuracy" in again.stderr
    assert as_json(*words) == json.loads((tmp_path / "results" / "summary.json").read_text())
    longer = tiercut(*words, "--rounds", 3)
    assert "sfl, seed 0: going on after round 2" in longer.stderr


def test_measure_derives_the_summary_again(tiercut, as_json, refusal, scenario, tmp_path):
    assert "there is no comparison here" in refusal("measure", "results")
    found = as_json("compare", scenario, *TWO, "-o", "results")
    path = tmp_path / "results" / "summary.json"
    before = path.read_bytes()
    path.unlink()
    assert as_json("measure", "results") == found
    assert path.read_bytes() == before
    assert as_json("measure", "results", "--targets", "7.5,3")["targets"] == [0.03, 0.075]
    assert "7.5 %" in tiercut("measure", "results", "--targets", "7.5").stdout
    for wrong in ("x", "0.75", "101", "nan", ""):
        assert "such as 60,70,75" in refusal("measure", "results", "--targets", wrong)


def test_measure_of_something_that_has_not_begun(tiercut, scenario, tmp_path):
    tiercut("compare", scenario, *TWO, "-o", "results")
    for path in (tmp_path / "results").rglob("rounds.jsonl"):
        path.unlink()
    assert "no run has finished a round yet" in tiercut("measure", "results").stdout


def test_measure_without_targets_or_gains(tiercut, scenario, tmp_path):
    tiercut("compare", scenario, *TWO, "-o", "results")
    for path in (tmp_path / "results").rglob("rounds.jsonl"):
        lines = [json.loads(line) | {"accuracy": 0.0} for line in path.read_text().splitlines()]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert "reach an accuracy" not in tiercut("measure", "results").stdout
    shown = tiercut("measure", "results", "--targets", "50").stdout
    assert "50 %" in shown
    assert "saved: by" not in shown


def test_options_reach_every_run(tiercut, scenario, tmp_path):
    options = "--precision fp64 --threads 2 --device cpu --executor threads --rounds 1"
    own = ("--override", "sfl:training.rate=0.5", "--hsfl-ll", "2,5,40%", "--drop-checkpoints")
    schemes = ("--schemes", "sfl,hsfl-ll", "--seeds", "4,2")
    tiercut("compare", scenario, *schemes, "-o", "results", *options.split(), *own)
    runs = [tmp_path / "results" / s / f"seed-{n}" for s in ("sfl", "hsfl-ll") for n in (4, 2)]
    manifests = [json.loads((path / "manifest.json").read_text()) for path in runs]
    assert [manifest["precision"] for manifest in manifests] == ["fp64"] * 4
    assert [m["scenario"]["training"]["rate"] for m in manifests] == [0.5, 0.5, 1e-4, 1e-4]
    assert [manifest["seed"] for manifest in manifests] == [4, 2, 4, 2]
    assert not list((tmp_path / "results").rglob("round-*.safetensors"))
    whole = json.loads((tmp_path / "results" / "manifest.json").read_text())
    assert (whole["seeds"], whole["schemes"]) == ([4, 2], ["sfl", "hsfl-ll"])
    assert (whole["fixed"], whole["overrides"]) == ("2,5,40%", {"sfl": {"training.rate": 0.5}})
    assert whole["command"][0] == "tiercut"


def test_what_is_wrong_is_said_before_anything_is_written(refusal, scenario, tmp_path):
    def refused(*words, **options):
        return refusal("compare", scenario, "-o", "results", *words, **options)

    assert "did you mean 'locsfl'" in refused("--schemes", "locsf")
    assert "--hsfl-ll aa" in refused("--schemes", "hsfl-ll")
    assert "such as 3, or which ones" in refused("--seeds", "three")
    assert "asks for 0 seeds" in refused("--seeds", "0")
    assert "two of the seeds are '1'" in refused("--seeds", "1,1")
    assert "rounds is 0" in refused("--rounds", 0)
    assert "write it like sfl:training.rate=3e-4" in refused("--override", "rate=1")
    assert "executor is graph" in refused("--executor", "graph")
    assert "such as 60,70,75" in refused("--targets", "-1")
    scenario.write_text(SCENARIO + '[data]\nname = "mnist"\n')
    assert "data get mnist" in refused("--data-dir", tmp_path, error=MissingError)
    assert not (tmp_path / "results").exists()


def test_a_single_seed_is_named_with_a_comma(tiercut, scenario, tmp_path):
    tiercut("compare", scenario, "--schemes", "sfl", "--seeds", "7,", "-o", "results")
    assert [path.name for path in (tmp_path / "results" / "sfl").iterdir()] == ["seed-7"]


def test_a_failed_run_is_told_at_the_end(scenario, tmp_path):
    from typer.testing import CliRunner

    from tiercut.cli import app

    own = ("--override", "sfl:training.rate=1e30", "--override", "sfl:training.optimiser=sgd")
    words = ["compare", str(scenario), *TWO, "-o", "results", *own]
    ran = CliRunner().invoke(app, words)
    assert type(ran.exception) is InputError
    said = str(ran.exception)
    assert said.startswith("1 of 2 runs did not get to their end; sfl, seed 0: training diverged")
    assert "AA HSFL-ll" in ran.stdout
    assert "sfl, seed 0: training diverged" in ran.stderr


def test_events_and_damage_are_told(tiercut, scenario, tmp_path):
    scenario.write_text(SCENARIO + EVENT)
    words = ("compare", scenario, "--schemes", "sfl", "--seeds", "1", "-o", "results", "--rounds")
    said = tiercut(*words, 2).stderr
    assert "sfl, seed 0: the fleet changed before round 2; there is a new plan" in said
    states = tmp_path / "results" / "sfl" / "seed-0" / "checkpoints"
    (states / "round-000002.safetensors").write_bytes(b"")
    assert "this checkpoint cannot be read" in tiercut(*words, 3).stderr


def test_on_a_terminal_a_table_lives(tiercut, scenario, tmp_path, monkeypatch):
    import rich.console

    shown = tmp_path / "shown.txt"
    with shown.open("w") as file:
        console = rich.console.Console(force_terminal=True, width=160, file=file)
        monkeypatch.setattr(rich.console, "Console", lambda **_: console)
        tiercut("compare", scenario, *TWO, "-o", "results")
    text = shown.read_text()
    assert "0 of 4 rounds" in text
    assert "4 of 4 rounds, about 0 ms left" in text
    assert "waiting" in text
    assert "finished" in text


def test_whoever_stops_a_comparison_is_told_how_it_goes_on(scenario, monkeypatch):
    from typer.testing import CliRunner

    from tiercut.cli import Interrupted, app
    from tiercut.compare import runs

    def interrupted(*_, **__):
        raise Interrupted

    monkeypatch.setattr(runs, "run_comparison", interrupted)
    with pytest.raises(Interrupted):
        CliRunner().invoke(app, ["compare", str(scenario), *TWO, "-o", "results"])


def test_ctrl_c_and_kill_lose_nothing(tiercut, scenario, tmp_path):
    scenario.write_text(LONG)
    words = ("scenario.toml", *TWO, "-o", "results")
    path = tmp_path / "results" / "sfl" / "seed-0" / "rounds.jsonl"
    for how, status in ((signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)):
        before = path.read_bytes().count(b"\n") if path.exists() else 0
        running = subprocess.Popen(
            [sys.executable, "-m", "tiercut", "compare", *words],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        while not path.exists() or path.read_bytes().count(b"\n") <= before:
            assert running.poll() is None, running.communicate()
            time.sleep(0.01)
        running.send_signal(how)
        _, said = running.communicate(timeout=60)
        assert running.returncode == status
        if how == signal.SIGINT:
            again = "tiercut: `tiercut compare scenario.toml --schemes sfl,aa-hsfl-ll --seeds 1 -o"
            assert again in said
    rounds = path.read_bytes().count(b"\n") + 1
    for folder in ("results", "whole"):
        tiercut("compare", "scenario.toml", *TWO, "-o", folder, "--rounds", rounds)
    one, other = (tmp_path / folder / "summary.json" for folder in ("results", "whole"))
    assert one.read_bytes() == other.read_bytes()
