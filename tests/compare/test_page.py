"""What docs/comparing.md says is so: its commands run, its tables are those of the files."""

import json
import re
import shlex

from typer.testing import CliRunner

from tests.compare.instances import carry_out, comparison
from tests.test_docs import ROOT, copy_scenarios, rows, runnable
from tiercut.cli import app

PAGE = (ROOT / "docs" / "comparing.md").read_text()


def documented(kind):
    """The fields in the first column of the table that follows a file's mark, in their order."""
    table = PAGE.split(f"<!-- fields: {kind} -->")[1].split("\n\n")[1]
    return [name for cell in rows(table) for name in re.findall(r"`(\w+)`", cell)]


def test_the_documented_fields_are_those_that_are_written(tmp_path):
    changes = {"training": {"rounds": 1, "portions": 2, "outer_momentum": 0.5, "server_share": 0.5}}
    carry_out(comparison(seeds=(0,), changes=changes), tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert documented("manifest") == list(manifest)
    assert documented("summary") == list(summary)
    assert sorted(documented("scheme")) == sorted(summary["schemes"]["sfl"])


def test_every_command_runs(tmp_path, monkeypatch):
    copy_scenarios(tmp_path, clients=5)
    monkeypatch.chdir(tmp_path)
    commands = runnable(PAGE)
    assert len(commands) == 7
    for command in commands:
        result = CliRunner().invoke(app, shlex.split(command, comments=True))
        assert result.exit_code == 0, f"tiercut {command}: {result.output} {result.exception}"
    own = json.loads((tmp_path / "results" / "tuned" / "manifest.json").read_text())["overrides"]
    assert own == {"sfl": {"training.rate": 3e-3, "plan.cuts": [3, 5]}}
