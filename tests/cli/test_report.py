import json
import shutil
import subprocess
import sys

import pytest

from tests.cli.test_train import EVENT, SCENARIO


@pytest.fixture(scope="module")
def compared(tiercut, tmp_path_factory):
    """A real comparison: two schemes from two seeds, two rounds each. Read it only."""
    base = tmp_path_factory.mktemp("compared")
    (base / "scenario.toml").write_text(SCENARIO)
    words = ("--schemes", "sfl,aa-hsfl-ll", "--seeds", 2, "--rounds", 2, "--targets", "1,100")
    tiercut("compare", base / "scenario.toml", *words, "-o", base / "results")
    return base / "results"


@pytest.fixture
def results(compared, tmp_path):
    return shutil.copytree(compared, tmp_path / "results")


def test_a_page_and_figures_are_written(tiercut, results, tmp_path):
    ran = tiercut("report", results, "--figures", "figures")
    page = (tmp_path / "report.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert "a small one / twice" in page
    assert "There are 2 seeds only" in ran.stdout
    assert "AA HSFL-ll reached 100% from no seed." in ran.stdout
    assert "wrote report.html" in ran.stderr
    assert "not shown" not in ran.stderr
    assert len(list((tmp_path / "figures").iterdir())) == 12


def test_json_tells_what_was_written_and_found(as_json, results, tmp_path):
    told = as_json("report", results, "-o", "other.html", "--figures", "f")
    assert told["page"] == "other.html"
    assert told["bytes"] == (tmp_path / "other.html").stat().st_size
    assert all((tmp_path / name).exists() for name in told["figures"])
    assert told["findings"]
    assert told["notes"] == []


@pytest.mark.parametrize("left", [None, {"schemes": {}, "gains": []}])
def test_an_interrupted_comparison_is_reported_as_far_as_it_got(as_json, results, left):
    """There is no summary yet, or one from before runs went on."""
    path = results / "summary.json"
    summary = json.loads(path.read_text())
    path.unlink() if left is None else path.write_text(json.dumps(summary | left))
    rounds = results / "sfl" / "seed-1" / "rounds.jsonl"
    rounds.write_text(rounds.read_text().splitlines()[0] + "\ntorn")
    shutil.rmtree(results / "aa-hsfl-ll" / "seed-1")
    told = as_json("report", results)
    assert "SFL seed 1 has 1 of 2 rounds and AA HSFL-ll seed 1 has 0 of 2" in told["cautions"][0]


def test_a_comparison_that_has_not_begun(as_json, results):
    (results / "summary.json").unlink()
    for path in results.rglob("rounds.jsonl"):
        path.unlink()
    told = as_json("report", results)
    assert told["cautions"][0] == "No scheme has finished a round yet."
    assert told["findings"] == []


def test_a_single_run_is_reported(as_json, compared, tmp_path):
    told = as_json("report", compared / "aa-hsfl-ll" / "seed-1")
    page = (tmp_path / "report.html").read_text()
    assert any(text.startswith("AA HSFL-ll ends at") for text in told["findings"])
    assert "one seed only" in told["cautions"][0]
    assert told["notes"] == []
    assert "compare two or more" in page


def test_a_run_that_has_not_begun(as_json, compared, tmp_path):
    folder = shutil.copytree(compared / "sfl" / "seed-0", tmp_path / "run")
    (folder / "rounds.jsonl").write_text("")
    (folder / "plan.json").unlink()
    assert "No scheme has finished" in as_json("report", folder)["cautions"][0]


def test_after_an_event_the_fleet_is_the_one_that_is_left(as_json, tiercut, tmp_path):
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO + EVENT)
    tiercut("train", path, "-o", "run")
    assert as_json("report", "run")["notes"] == []
    page = (tmp_path / "report.html").read_text()
    values = json.loads(page.split('id="values">')[1].split("</script>")[0])
    names = [node["name"] for node in values["graphs"]["aa-hsfl-ll"]["nodes"]]
    assert names == ["client-1", "client-3", "client-4", "client-5"]
    assert values["batches"]["aa-hsfl-ll"]["seconds"] > 0


def test_data_that_is_not_there_is_left_out(as_json, results):
    for name in ("cifar10", "cinic10"):
        for path in results.rglob("seed-*/manifest.json"):
            manifest = json.loads(path.read_text())
            manifest["scenario"]["data"]["name"] = name
            path.write_text(json.dumps(manifest))
        (note,) = as_json("report", results)["notes"]
        assert name in note


def test_a_folder_of_images_is_not_decoded(tiercut, results, tmp_path):
    (tmp_path / "images").mkdir()
    for path in results.rglob("seed-*/manifest.json"):
        manifest = json.loads(path.read_text())
        manifest["scenario"]["data"]["name"] = "images"
        path.write_text(json.dumps(manifest))
    assert "not shown: who has what of images is left out" in tiercut("report", results).stderr


def test_what_cannot_be_reported_is_refused(refusal, results, tmp_path):
    assert "name that ends in .html" in refusal("report", results, "-o", "report.pdf")
    assert "there is no such folder" in refusal("report", "nowhere")
    (tmp_path / "empty").mkdir()
    assert "there is no comparison here" in refusal("report", "empty")
    (results / "summary.json").write_text("{}")
    assert "version" in refusal("report", results)


def test_reporting_does_not_load_torch(compared):
    script = (
        "import sys\n"
        "from typer.testing import CliRunner\n"
        "from tiercut.cli import app\n"
        f"ran = CliRunner().invoke(app, ['report', {str(compared)!r}])\n"
        "assert ran.exit_code == 0, ran.output\n"
        "print('torch' in sys.modules, 'matplotlib' in sys.modules)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert ran.stdout == "False False\n"
