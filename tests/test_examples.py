"""Every example runs as a script, from any folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


def run(example, folder, *options):
    command = [sys.executable, "-W", "error", str(example), *options]
    environment = {**os.environ, "COLUMNS": "100"}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_there_are_examples():
    names = {path.name for path in EXAMPLES}
    assert {"plan_only.py", "own_model.py", "own_scheme.py", "demo.py"} <= names


@pytest.mark.parametrize("example", [e for e in EXAMPLES if e.stem != "demo"], ids=lambda e: e.stem)
def test_it_runs_as_a_script(example, tmp_path):
    ran = run(example, tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout


def test_the_demo_says_where_its_files_are(tmp_path):
    demo = next(path for path in EXAMPLES if path.stem == "demo")
    ran = run(demo, tmp_path, "--quick")
    assert ran.returncode == 0, ran.stderr
    assert "open ./demo-results/report.html" in ran.stdout.splitlines()[-1]
    written = {path.name for path in (tmp_path / "demo-results").iterdir()}
    assert {"plan.json", "groups.svg", "cuts.svg", "spread.svg", "report.html"} <= written


def test_a_scheme_of_ones_own_needs_few_lines():
    own_scheme = next(path for path in EXAMPLES if path.stem == "own_scheme")
    assert len(own_scheme.read_text().splitlines()) < 60


def test_planning_without_files_needs_few_lines():
    plan_only = next(path for path in EXAMPLES if path.stem == "plan_only")
    assert len(plan_only.read_text().splitlines()) < 40
