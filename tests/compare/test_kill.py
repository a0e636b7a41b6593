"""A comparison that is killed with SIGKILL and goes on is the one that was never killed."""

import json

from tests.compare.instances import carry_out, comparison, files
from tests.compare.victim import compare_until_killed
from tests.train.instances import repeatable
from tiercut.measure.results import run_path


def test_killed_in_several_runs(tmp_path):
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    made = comparison(rounds=3)
    for scheme, seed, number in (("sfl", 0, 2), ("aa-hsfl-ll", 0, 1), ("aa-hsfl-ll", 1, 2)):
        compare_until_killed(killed, scheme, seed, number)
        json.loads((killed / "summary.json").read_text())
    first = files(killed, comparison(("sfl",), (0,)), "manifest.json")
    carry_out(made, killed)
    carry_out(made, whole)
    assert (killed / "summary.json").read_bytes() == (whole / "summary.json").read_bytes()
    for job in made.jobs:
        one, other = (run_path(folder, job.scheme, job.seed) for folder in (killed, whole))
        assert repeatable(one) == repeatable(other)
    assert files(killed, comparison(("sfl",), (0,)), "manifest.json") == first
    parts = json.loads((run_path(killed, "sfl", 0) / "manifest.json").read_text())["resumed"]
    assert len(parts) == 1, "a finished run was trained again"
