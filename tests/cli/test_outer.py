"""Rounds that start ahead, from the scenario to the run."""

import json

import pytest

SCENARIO = """
name = "ahead"
[model]
name = "small"
[fleet]
clients = 4
examples = 20
[training]
batch = 4
epochs = 1
rounds = 3
rate = 1e-3
outer_momentum = {}
[engine]
threads = 1
device = "cpu"
"""


@pytest.fixture
def scenario(tmp_path):
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO.format(0.9))
    return path


def test_a_run_that_goes_on_ends_as_one_that_was_left_alone(scenario, tmp_path, tiercut):
    for name in ("whole", "parts"):
        rounds = 3 if name == "whole" else 2
        tiercut("train", scenario, "--rounds", rounds, "-o", tmp_path / name)
    tiercut("train", scenario, "--resume", "-o", tmp_path / "parts")
    whole, parts = ((tmp_path / name / "model.safetensors") for name in ("whole", "parts"))
    assert whole.read_bytes() == parts.read_bytes()


def test_it_changes_what_is_learned_and_not_what_a_round_takes(scenario, tmp_path, as_json):
    far = as_json("train", scenario, "-o", tmp_path / "far")
    scenario.write_text(SCENARIO.format(0.0))
    plain = as_json("train", scenario, "-o", tmp_path / "plain")
    assert (far["seconds"], far["bytes"]) == (plain["seconds"], plain["bytes"])
    models = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("far", "plain"))
    assert len(set(models)) == 2


@pytest.mark.parametrize("momentum", ["1.0", "-0.1", '"much"'])
def test_a_momentum_that_cannot_be_is_refused(momentum, scenario, tmp_path, refusal):
    scenario.write_text(SCENARIO.format(momentum))
    assert "outer_momentum" in refusal("train", scenario, "-o", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_results_and_their_page_say_it(scenario, tmp_path, tiercut):
    results, page = tmp_path / "results", tmp_path / "page.html"
    tiercut("compare", scenario, "--schemes", "sfl", "--seeds", 1, "--rounds", 1, "-o", results)
    tiercut("report", results, "-o", page)
    assert json.loads((results / "summary.json").read_text())["outer_momentum"] == 0.9
    assert "<dt>outer momentum</dt><dd>0.9</dd>" in page.read_text()
