"""The whole way of a figure, as a person types it, on a model that trains in a blink."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from tests.reproduce.instances import write_study
from tiercut.cli import app
from tiercut.errors import InputError
from tiercut.measure.results import read_results
from tiercut.measure.summary import summarise
from tiercut.reproduce import catalogue, runs, tables
from tiercut.reproduce.catalogue import STUDIES
from tiercut.reproduce.quick import LABEL, quick_study
from tiercut.reproduce.results import to_markdown
from tiercut.reproduce.trained import RESULTS, document_of

SCENARIOS = str(Path(__file__).parents[2] / "scenarios")
KEPT = {"manifest.json", "plan.json", "rounds.jsonl", "summary.json", "machine.json"}


def reproduce(name, folder, *words):
    options = ["--scenarios", SCENARIOS, "-o", str(folder), "--json", *words]
    return CliRunner().invoke(app, ["reproduce", name, *options])


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Figure 8 in its quick version: four shares of aggregators."""
    folder = tmp_path_factory.mktemp("made")
    result = reproduce("figure-8", folder, "--quick")
    assert result.exit_code == 0, result.output
    return folder / "figure-8"


@pytest.fixture
def no_training(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("there was something to train")

    monkeypatch.setattr(runs, "train", refuse)


def test_everything_is_written_and_follows_from_the_runs(made):
    document = json.loads((made / "result.json").read_text())
    assert document["title"].startswith(LABEL)
    assert document == document_of(quick_study(STUDIES["figure-8"]), "figure-8", made)
    assert (made / "README.md").read_text() == to_markdown(document)
    assert (made / "report.html").read_text().startswith("<!DOCTYPE html>")
    assert {path.name for path in made.glob("*.svg")} == {
        "accuracy-seconds.svg",
        "accuracy-bytes.svg",
    }
    runs_of = [path for path in (made / RESULTS).rglob("*") if path.is_file()]
    assert {path.name for path in runs_of} == KEPT
    assert len([path for path in runs_of if path.name == "rounds.jsonl"]) == 4


def test_shares_of_aggregators_are_those_asked_for(made):
    document = json.loads((made / "result.json").read_text())
    (row,) = (row for row in document["rows"] if row[0] == "aggregators")
    assert [cell["typical"] for cell in row[2:]] == [1, 2, 3, 4]  # of five clients


def test_what_is_there_is_not_trained_again(made, no_training):
    before = (made / "report.html").stat().st_mtime_ns
    result = reproduce("figure-8", made.parent, "--quick")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["figure-8"]["title"].startswith(LABEL)
    assert (made / "report.html").stat().st_mtime_ns == before


def test_what_is_missing_is_trained_and_the_rest_is_kept(tmp_path):
    results = tmp_path / "table-vi-vgg11" / RESULTS
    assert reproduce("table-vi", tmp_path, "--quick").exit_code == 0
    assert (tmp_path / "table-vi-resnet101" / "README.md").exists()
    kept, lost = (results / f"aa-gamma-{gamma}" / "seed-0" for gamma in ("2", "15"))
    old = (kept / "rounds.jsonl").read_bytes(), (kept / "manifest.json").stat().st_mtime_ns
    whole = [{**json.loads(line)} for line in (lost / "rounds.jsonl").read_text().splitlines()]
    (lost / "rounds.jsonl").write_text("")
    assert reproduce("table-vi", tmp_path, "--quick").exit_code == 0
    assert old == (
        (kept / "rounds.jsonl").read_bytes(),
        (kept / "manifest.json").stat().st_mtime_ns,
    )
    again = [json.loads(line) for line in (lost / "rounds.jsonl").read_text().splitlines()]
    assert [one["accuracy"] for one in again] == [one["accuracy"] for one in whole]
    own = json.loads((results / "manifest.json").read_text())["overrides"]
    assert own["aa-gamma-15"] == {"fleet.gamma": 15.0}


def test_runs_made_from_something_else_are_refused(made):
    result = reproduce("figure-8", made.parent, "--quick", "--precision", "fp64")
    assert isinstance(result.exception, InputError)
    assert "engine.precision was" in str(result.exception)


def test_every_contender_of_a_figure_gets_through(tmp_path):
    result = reproduce("figure-4", tmp_path, "--quick", "--rounds", "1")
    assert result.exit_code == 0, result.output
    summary = json.loads((tmp_path / "figure-4" / RESULTS / "summary.json").read_text())
    assert all(scheme["complete"] for scheme in summary["schemes"].values())
    assert list(summary["schemes"]) == [one.name for one in STUDIES["figure-4"].contenders]
    gains = reproduce("table-iii", tmp_path, "--quick")
    assert json.loads(gains.stdout)["table-iii"]["title"].startswith(LABEL)


def test_tuned_and_swept_studies_get_through(tmp_path):
    assert reproduce("figure-4", tmp_path, "--quick", "--tuned", "--rounds", "1").exit_code == 0
    assert (tmp_path / "figure-4-tuned" / "README.md").exists()
    assert reproduce("figure-5-free", tmp_path, "--quick", "--rounds", "1").exit_code == 0
    assert (tmp_path / "figure-5-free" / "README.md").exists()
    assert reproduce("figure-4-lean", tmp_path, "--quick", "--rounds", "1").exit_code == 0
    assert (tmp_path / "figure-4-lean" / "README.md").exists()
    assert reproduce("figure-2-vgg11", tmp_path, "--quick", "--rounds", "1").exit_code == 0
    document = json.loads((tmp_path / "figure-2-vgg11" / "result.json").read_text())
    assert document["columns"][2:] == ["v = 2", "v = 3", "v = 5"]  # the small model has no more


def test_a_run_that_fails_is_told_at_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "train", lambda *_, **__: ("SFL, seed 0: it burst",))
    write_study(STUDIES["figure-5"], tmp_path / "figure-5", {"sfl": {0: [0.1, 0.2, 0.3]}})
    result = reproduce("figure-5", tmp_path, "--quick")
    assert isinstance(result.exception, InputError)
    assert "1 of the runs did not get to their end; SFL, seed 0: it burst" in str(result.exception)
    assert (tmp_path / "figure-5" / "README.md").exists()


def test_a_run_in_a_process_of_its_own_comes_to_the_same(made, tmp_path):
    copy = shutil.copytree(made, tmp_path / "figure-8")
    shutil.rmtree(copy / RESULTS / "aa-lambda-25")
    result = reproduce("figure-8", tmp_path, "--quick", "--at-once", "2")
    assert result.exit_code == 0, result.output
    one, other = (folder / RESULTS / "summary.json" for folder in (made, copy))
    assert one.read_bytes() == other.read_bytes()


def test_a_quick_trial_goes_nowhere_but_where_it_is_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["reproduce", "figure-4", "--quick"])
    assert "say where it goes with -o DIR" in str(result.exception)
    assert "needs no training" in str(reproduce("table-iv", tmp_path, "--quick").exception)


# ----------------------------------------------------------------------------------------- tuned


def test_a_figure_of_tuned_schemes_is_trained_as_tuning_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    without = reproduce("figure-7-free", tmp_path / "out", "--device", "cpu").exception
    assert "settings-resnet101: there is no tuning.json" in str(without)
    assert "make it with `tiercut reproduce settings-resnet101`" in str(without)
    own, wanted = {"training.rate": 1e-3, "plan.cuts": [1]}, []

    def tune(folder, best):
        folder.mkdir(parents=True)
        found = {"tried": {"rate-0.001": {"own": own}}, "best": best}
        (folder / "tuning.json").write_text(json.dumps({"version": 2, "schemes": {"sfl": found}}))

    def train(one, folder, **_):
        wanted.append(one.overrides)
        write_study(one.study, folder.parent, {"sfl": {0: [0.1, 0.2, 0.3]}})
        return ()

    monkeypatch.setattr(runs, "train", train)
    tune(tmp_path / "benchmarks/paper/settings-resnet101", "rate-0.001")
    result = reproduce("figure-7-free", tmp_path / "out", "--device", "cpu")
    assert result.exit_code == 0, result.output
    assert wanted == [{"sfl": own}]
    tune(tmp_path / "out/settings-resnet101", None)
    without = reproduce("figure-7-free", tmp_path / "out", "--device", "cpu").exception
    assert "tuning.json: sfl has no best setting; tune again" in str(without)


# ------------------------------------------------------------------------------------- everything


@pytest.fixture
def few(monkeypatch):
    """Two studies, no tables, and no GPU."""
    monkeypatch.setattr(tables, "TABLES", {})
    monkeypatch.setattr(catalogue, "STUDIES", {n: STUDIES[n] for n in ("figure-5", "figure-8")})
    monkeypatch.setattr(runs, "has_gpu", lambda: False)


def test_without_a_gpu_all_makes_what_runs_there_are(few, tmp_path, no_training):
    write_study(STUDIES["figure-5"], tmp_path / "figure-5", {"sfl": {0: [0.1, 0.2, 0.3]}})
    result = reproduce("all", tmp_path)
    assert result.exit_code == 0, result.output
    assert list(json.loads(result.stdout)) == ["figure-5", "table-iii", "gains", "least"]
    assert "skipped figure-8: it needs training, and there is no GPU here" in result.stderr


def test_without_training_what_is_there_is_shown(tmp_path, no_training):
    write_study(STUDIES["figure-5"], tmp_path / "figure-5", {"sfl": {0: [0.1, 0.2, 0.3]}})
    path = tmp_path / "figure-5" / RESULTS / "summary.json"
    path.write_text(json.dumps(summarise(read_results(path.parent)) | {"schemes": {}}))
    result = reproduce("figure-5", tmp_path, "--no-training")
    assert result.exit_code == 0, result.output
    assert list(json.loads(path.read_text())["schemes"]) == ["sfl"]
    assert "Not finished: Multihop SFL" in (tmp_path / "figure-5" / "README.md").read_text()
    assert (tmp_path / "figure-5" / "report.html").exists()
    refused = reproduce("figure-8", tmp_path, "--no-training").exception
    assert "there are no runs; leave --no-training out" in str(refused)


def test_without_any_runs_all_says_that_table_iii_is_skipped_too(few, tmp_path):
    result = reproduce("all", tmp_path)
    assert json.loads(result.stdout) == {}
    assert "skipped table-iii: " in result.stderr


def test_with_a_gpu_all_trains(few, tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "has_gpu", lambda: True)
    trained = []

    def train(wanted, folder, **_):
        trained.append((wanted.scenario.name, len(wanted.seeds), wanted.scenario.engine.precision))
        write_study(wanted.study, folder.parent, {"sfl": {0: [0.1, 0.2, 0.3]}})
        return ()

    monkeypatch.setattr(runs, "train", train)
    monkeypatch.delitem(catalogue.STUDIES, "figure-8")
    assert reproduce("all", tmp_path).exit_code == 0
    assert trained == [("figure-5", 3, "bf16")]


def test_machines_are_described_by_what_trains(monkeypatch):
    assert runs.describe_machine("cpu")["accelerator"] == "CPU"
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: f"the {device}")
    assert runs.describe_machine("cuda:0")["accelerator"] == "the cuda:0"
    assert runs.has_gpu() == torch.cuda.is_available()
