"""`tiercut reproduce settings-...`: what free, small and fine versions train with."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from tests.cli.test_train import SCENARIO
from tiercut.cli import app
from tiercut.errors import InputError
from tiercut.reproduce.catalogue import STUDIES, choose
from tiercut.reproduce.fine import FINE, TRIED
from tiercut.reproduce.free import FREE
from tiercut.reproduce.small import SMALL
from tiercut.reproduce.study import Contender
from tiercut.reproduce.tunings import SEED, TUNINGS, Tuning

STUDY = replace(
    STUDIES["figure-5-free"],
    file="tiny",
    contenders=(Contender("sfl"), Contender("aa-hsfl-ll")),
)
CUTS = {"sfl": {"plan.cuts": ([1], [4])}, "aa-hsfl-ll": {"plan.cuts": ([3], [4])}}


@pytest.fixture
def reproduce(tmp_path, monkeypatch):
    """Reproduces a small tuning with a target."""
    scenario = SCENARIO.replace("examples = 12", "examples = 40")
    (tmp_path / "tiny.toml").write_text(scenario)

    def run(*words, target=0.05):
        monkeypatch.setitem(TUNINGS, "settings-tiny", Tuning(STUDY, target, 2, CUTS))
        options = ["--scenarios", str(tmp_path), "-o", str(tmp_path / "out"), *words]
        return CliRunner().invoke(app, ["reproduce", "settings-tiny", *options])

    return run


def test_a_tuning_is_trained_and_found_again_without_training(reproduce, tmp_path):
    result = reproduce("--json")
    assert result.exit_code == 0, result.output
    folder = tmp_path / "out" / "settings-tiny"
    found = json.loads((folder / "tuning.json").read_text())
    assert json.loads(result.stdout) == {"settings-tiny": found}
    assert (found["objective"], found["target"]) == ("time-to-accuracy", 0.05)
    tried = {name: list(one["tried"]) for name, one in found["schemes"].items()}
    assert tried == {"sfl": ["cuts-1", "cuts-4"], "aa-hsfl-ll": ["cuts-3", "cuts-4"]}
    assert (folder / "cuts-4" / "sfl" / f"seed-{SEED}" / "rounds.jsonl").exists()
    (folder / "tuning.json").unlink()
    shown = reproduce("--no-training")
    assert shown.exit_code == 0, shown.output
    assert "time to 5 % on examples kept back" in shown.stdout
    assert json.loads((folder / "tuning.json").read_text()) == found


def test_a_scheme_that_is_never_there_is_named(reproduce):
    result = reproduce("--json", target=1.0)
    assert isinstance(result.exception, InputError)
    assert "sfl did not reach 100 % in any setting; give more --rounds" in str(result.exception)
    assert json.loads(result.stdout)["settings-tiny"]["schemes"]["sfl"]["best"] is None


def test_there_is_no_quick_tuning(reproduce):
    assert "leave --quick out" in str(reproduce("--quick").exception)


def test_every_free_small_and_fine_version_reads_what_a_tuning_finds():
    names = [name for name in STUDIES if name.endswith((FREE, SMALL, FINE))]
    assert {STUDIES[name].tuning for name in names} | {TRIED.tuning} == set(TUNINGS)
    assert choose("settings-vgg11").tunings == {"settings-vgg11": TUNINGS["settings-vgg11"]}
    assert choose("all").tunings == {}
