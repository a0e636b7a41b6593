"""What docs/training.md says is so: its commands run, its tables are those of the files."""

import json
import re
import shlex

from typer.testing import CliRunner

from tests.test_docs import ROOT, copy_scenarios, fenced, rows, runnable
from tests.train.instances import lines, setting
from tiercut.cli import app
from tiercut.train.loop import run
from tiercut.train.record import WALL_CLOCK, Record
from tiercut.train.trackers import TRACKERS

PAGE = (ROOT / "docs" / "training.md").read_text()


def documented(kind):
    """The fields in the table that follows the mark of a file, in their order."""
    table = PAGE.split(f"<!-- fields: {kind} -->")[1].split("\n\n")[1]
    return [name for cell in rows(table) for name in re.findall(r"`(\w+)`", cell)]


def test_the_documented_fields_are_those_that_are_written(tmp_path):
    for scheme in ("aa-hsfl-ll", "dtfl"):
        run(setting(scheme, training={"rounds": 1}), tmp_path / scheme)
        (line,) = lines(tmp_path / scheme)
        assert list(line) == documented("rounds") == list(Record.model_fields)
    assert tuple(line)[-3:] == WALL_CLOCK
    run(setting(training={"rounds": 2}), tmp_path / "aa-hsfl-ll", resume=True)
    manifest = json.loads((tmp_path / "aa-hsfl-ll" / "manifest.json").read_text())
    assert sorted(documented("manifest")) == sorted(manifest)


def test_the_trackers_are_named():
    assert all(f"| `{name}` | `pip install 'tiercut[{name}]'`" in PAGE for name in TRACKERS)


def test_every_command_runs_and_the_model_can_be_loaded(tmp_path, monkeypatch):
    copy_scenarios(tmp_path)
    monkeypatch.chdir(tmp_path)
    commands = runnable(PAGE)
    assert len(commands) == 7
    for command in commands:
        result = CliRunner().invoke(app, shlex.split(command, comments=True))
        assert result.exit_code == 0, f"tiercut {command}: {result.output} {result.exception}"
    assert len(lines(tmp_path / "runs" / "demo-aa-hsfl-ll")) == 9
    (program,) = fenced(PAGE, "python")
    exec(program, {})
