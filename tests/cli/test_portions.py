"""Rounds shorter than a pass over the data, from the scenario to the page."""

import json

import pytest


def test_all_verbs_count_the_batches_of_a_portion(scenario_with, tmp_path, tiercut, as_json):
    scenario = scenario_with("portions = 3")
    plan, results, page = (tmp_path / name for name in ("plan.json", "results", "page.html"))
    planned = as_json("plan", scenario, "-o", plan)
    assert (planned["portions"], planned["batches_per_epoch"]) == (3, 2)
    priced = as_json("cost", scenario, "--plan", plan)
    assert (priced["portions"], priced["batches_per_epoch"]) == (3, 2)
    assert priced["seconds"] == planned["seconds"]
    tiercut("compare", scenario, "--schemes", "sfl,aa-hsfl-ll", "--seeds", 1, "-o", results)
    record = json.loads((results / "sfl/seed-0/rounds.jsonl").read_text().splitlines()[-1])
    assert record["samples"] == 5 * 8
    assert json.loads((results / "summary.json").read_text())["portions"] == 3
    tiercut("report", results, "-o", page)
    text = page.read_text()
    assert "portions" in text
    assert "do not give the seconds" not in text


@pytest.mark.parametrize("verb", ["train", "plan"])
def test_too_many_portions_are_refused_before_anything_starts(
    verb, scenario_with, tmp_path, refusal
):
    said = refusal(verb, scenario_with("portions = 27"), "-o", tmp_path / "run")
    assert "26 training examples, too few for 27 portions; lower portions in [training]" in said
    assert not (tmp_path / "run").exists()
