"""`tiercut reproduce`, as a person types it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tiercut.cli import app
from tiercut.errors import InputError
from tiercut.reproduce import runs, tables
from tiercut.reproduce.results import Table

SCENARIOS = Path(__file__).parents[2] / "scenarios"


def tiny(settings, *, watch):
    """A table that takes no time."""
    rows = tuple((model, 1.0) for model in watch(list(settings), "tiny"))
    return Table("Table 0", ("Quickly.",), ("model", "ours"), rows, ("None at all.",), (0,))


@pytest.fixture
def run(monkeypatch, tmp_path):
    monkeypatch.setattr(tables, "TABLES", {"table-iv": tiny, "table-v": tiny})
    monkeypatch.setattr(runs, "has_gpu", lambda: False)  # or figures would be trained

    def run(*words):
        options = ["--scenarios", str(SCENARIOS), "--output", str(tmp_path)]
        return CliRunner().invoke(app, ["reproduce", *words, *options])

    return run


def test_a_table_is_shown_and_written(run, tmp_path):
    result = run("table-iv")
    assert result.exit_code == 0
    assert "Table 0" in result.stdout
    assert "- None at all." in result.stdout
    written = json.loads((tmp_path / "table-iv" / "result.json").read_text())
    assert written["command"].startswith("tiercut reproduce table-iv --scenarios")
    assert (tmp_path / "table-iv" / "README.md").exists()


def test_scripts_get_every_table_as_json(run):
    documents = json.loads(run("all", "--json").stdout)
    assert list(documents) == ["table-iv", "table-v"]
    assert documents["table-v"]["rows"][0] == ["alexnet", 1.0]


def test_an_unknown_name_gets_the_nearest_one(run):
    result = run("table-4v")
    assert isinstance(result.exception, InputError)
    assert "did you mean 'table-" in str(result.exception)


def test_without_scenarios_it_says_where_to_run(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["reproduce", "table-iv"])
    assert isinstance(result.exception, InputError)
    assert "checkout" in str(result.exception)
