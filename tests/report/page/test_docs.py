"""What docs/report.md says is so: its commands run, its numbers and names are the code's."""

import shlex

from typer.testing import CliRunner

from tests.report.page.test_figures import NAMES
from tests.test_docs import ROOT, copy_scenarios, runnable
from tiercut.cli import app
from tiercut.report.page.batch import MOST_LANES
from tiercut.report.page.graph import MOST_CLIENTS

PAGE = (ROOT / "docs" / "report.md").read_text()


def test_every_command_runs(tmp_path, monkeypatch):
    copy_scenarios(tmp_path)
    monkeypatch.chdir(tmp_path)
    commands = runnable(PAGE)
    assert len(commands) == 4
    for command in commands:
        result = CliRunner().invoke(app, shlex.split(command, comments=True))
        assert result.exit_code == 0, f"tiercut {command}: {result.output} {result.exception}"
    assert {path.stem for path in (tmp_path / "figures").iterdir()} <= NAMES


def test_its_numbers_and_names_are_those_of_the_code():
    assert f"more than {MOST_CLIENTS} clients" in PAGE
    assert f"the {MOST_LANES} clients" in PAGE
    assert all(f"`{name}`" in PAGE for name in NAMES)
