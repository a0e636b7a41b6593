"""The committed runs on the clock of a real network."""

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tiercut.cli import app
from tiercut.errors import InputError
from tiercut.reproduce.gains_network import read_repriced
from tiercut.reproduce.trained import RESULTS, read_runs

ROOT = Path(__file__).parents[2]
FIGURE_6 = ROOT / "benchmarks" / "paper" / "figure-6"


def by_name(results):
    return {one.name: one.runs[0].points for one in results.contenders}


@pytest.mark.parametrize("scheme", ["sfl", "dtfl", "aa-hsfl-ll"])
def test_a_round_takes_what_the_cost_command_says(scheme):
    plan = FIGURE_6 / RESULTS / scheme / "seed-0" / "plan.json"
    scenario = ROOT / "scenarios" / "figure-6.toml"
    words = ["cost", str(scenario), "--plan", str(plan), "--cost", "network", "--json"]
    told = CliRunner().invoke(app, words)
    assert told.exit_code == 0, told.output
    seconds = json.loads(told.stdout)["seconds"]["round"]
    points = by_name(read_repriced(FIGURE_6))[scheme]
    assert [point.seconds for point in points] == pytest.approx(
        [seconds * number for number in range(1, len(points) + 1)]
    )


def test_only_the_clock_is_another():
    usual, real = by_name(read_runs(FIGURE_6)), by_name(read_repriced(FIGURE_6))
    assert usual.keys() == real.keys()
    for name, points in usual.items():
        assert [(p.round, p.accuracy, p.bytes) for p in points] == [
            (p.round, p.accuracy, p.bytes) for p in real[name]
        ]
        assert real[name][-1].seconds <= points[-1].seconds


def test_a_plan_of_another_fleet_is_refused(tmp_path):
    copy = tmp_path / "figure-6"
    shutil.copytree(FIGURE_6 / RESULTS, copy / RESULTS)
    manifest = copy / RESULTS / "sfl" / "seed-0" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"seed": 0', '"seed": 1'))
    with pytest.raises(InputError, match="do not give the seconds that were recorded"):
        read_repriced(copy)
    manifest.unlink()
    with pytest.raises(InputError, match=r"manifest\.json"):
        read_repriced(copy)


def test_without_runs_there_is_nothing_to_price(tmp_path):
    assert read_repriced(tmp_path) is None
