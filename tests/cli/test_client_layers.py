"""How few layers a client keeps, wherever plans are made."""

import json

import pytest

SLOWER = """
[[events]]
round = 2
share = 0.3
slow_down = 2.0
"""


@pytest.mark.parametrize("solver", ["exact", "hsfl-ll"])
def test_a_plan_that_leaves_one_layer_is_planned_again_on_its_terms(
    solver, scenario_with, tmp_path, as_json, tiercut
):
    plan, run = tmp_path / "plan.json", tmp_path / "run"
    scenario = scenario_with(plan=f'solver = "{solver}"', rest=SLOWER)
    fixed = ("--aggregator-layer", 1, "--cuts", 4, "--lambda", "40%", "--client-layers", 1)
    as_json("plan", scenario, *fixed, "-o", plan)
    tiercut("train", scenario, "--plan", plan, "-o", run)
    rounds = [json.loads(line) for line in (run / "rounds.jsonl").read_text().splitlines()]
    assert [one["replanned"] for one in rounds] == [False, True]
    if solver == "hsfl-ll":
        assert [one["aggregator_layer"] for one in rounds] == [1, 1]


def test_a_probe_tries_the_cuts_that_it_leaves_room_for(scenario_with, as_json):
    options = ("--clients", 2, "--epochs", 1)
    usual = as_json("probe", scenario_with(), *options)
    fewer = as_json("probe", scenario_with(plan="client_layers = 1"), *options)
    assert fewer["cuts"] == [2, *usual["cuts"]]


def test_a_layer_that_clients_must_keep_is_not_given_away(scenario_with, refusal):
    said = refusal("plan", scenario_with(plan="client_layers = 3"), "--aggregator-layer", 2)
    assert "from 3 to 5, below the cut; --client-layers says how few a client keeps" in said
