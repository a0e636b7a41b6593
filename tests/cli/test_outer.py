"""Rounds that start ahead, from the scenario to the run."""

import json

import pytest

AHEAD = "outer_momentum = 0.9"


def test_a_run_that_goes_on_ends_as_one_that_was_left_alone(scenario_with, tmp_path, tiercut):
    scenario = scenario_with(AHEAD)
    for name, rounds in {"whole": 3, "parts": 2}.items():
        tiercut("train", scenario, "--rounds", rounds, "-o", tmp_path / name)
    tiercut("train", scenario, "--resume", "--rounds", 3, "-o", tmp_path / "parts")
    whole, parts = ((tmp_path / name / "model.safetensors") for name in ("whole", "parts"))
    assert whole.read_bytes() == parts.read_bytes()


def test_it_changes_what_is_learned_and_not_what_a_round_takes(scenario_with, tmp_path, as_json):
    far = as_json("train", scenario_with(AHEAD), "-o", tmp_path / "far")
    plain = as_json("train", scenario_with(), "-o", tmp_path / "plain")
    assert (far["seconds"], far["bytes"]) == (plain["seconds"], plain["bytes"])
    models = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("far", "plain"))
    assert len(set(models)) == 2


@pytest.mark.parametrize("momentum", ["1.0", "-0.1", '"much"'])
def test_a_momentum_that_cannot_be_is_refused(momentum, scenario_with, tmp_path, refusal):
    scenario = scenario_with(f"outer_momentum = {momentum}")
    assert "outer_momentum" in refusal("train", scenario, "-o", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_results_and_their_page_say_it(scenario_with, tmp_path, tiercut):
    results, page = tmp_path / "results", tmp_path / "page.html"
    scenario = scenario_with(AHEAD)
    tiercut("compare", scenario, "--schemes", "sfl", "--seeds", 1, "--rounds", 1, "-o", results)
    tiercut("report", results, "-o", page)
    assert json.loads((results / "summary.json").read_text())["outer_momentum"] == 0.9
    assert "<dt>outer momentum</dt><dd>0.9</dd>" in page.read_text()
