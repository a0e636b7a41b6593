"""A server that sees a share of every batch, from the scenario to the page."""

import json

import pytest

SHARE = "server_share = 0.5"


def test_plans_are_made_and_priced_for_it(scenario_with, tmp_path, as_json):
    scenario, plan = scenario_with(SHARE), tmp_path / "plan.json"
    planned = as_json("plan", scenario, "-o", plan)
    assert planned["server_share"] == 0.5
    priced = as_json("cost", scenario, "--plan", plan)
    assert (priced["seconds"], priced["bytes"]) == (planned["seconds"], planned["bytes"])
    everything = as_json("cost", scenario_with(), "--plan", _seeing_all(plan))
    assert priced["seconds"]["server"] == pytest.approx(everything["seconds"]["server"] / 2)
    up = "activations_to_server"
    assert priced["bytes"][up] == pytest.approx(everything["bytes"][up] / 2)
    assert priced["bytes"]["weights_up"] == everything["bytes"]["weights_up"]


def _seeing_all(plan):
    data = json.loads(plan.read_text())
    other = plan.with_name("all.json")
    other.write_text(json.dumps({**data, "server_share": 1.0}))
    return other


def test_a_scheme_without_a_local_loss_is_as_it_was(scenario_with, tmp_path, as_json):
    some, everything = (
        as_json("train", scenario_with(line), "--scheme", "sfl", "-o", tmp_path / name)
        for name, line in (("some", SHARE), ("everything", ""))
    )
    ignored = ("wall_seconds", "folder")
    assert {k: v for k, v in some.items() if k not in ignored} == {
        k: v for k, v in everything.items() if k not in ignored
    }


@pytest.mark.parametrize("share", ["0", "1.01", "-0.5", '"half"', "nan"])
def test_a_share_that_cannot_be_is_refused(share, scenario_with, tmp_path, refusal):
    for verb in ("train", "plan"):
        scenario = scenario_with(f"server_share = {share}")
        assert "server_share" in refusal(verb, scenario, "-o", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_results_and_their_page_say_it(scenario_with, tmp_path, tiercut):
    results, page = tmp_path / "results", tmp_path / "page.html"
    terms = ("--schemes", "locsfl", "--seeds", 1, "--rounds", 1)
    tiercut("compare", scenario_with(SHARE), *terms, "-o", results)
    tiercut("report", results, "-o", page)
    assert json.loads((results / "summary.json").read_text())["server_share"] == 0.5
    text = page.read_text()
    assert "<dt>server share</dt><dd>0.5</dd>" in text
    assert "do not give the seconds" not in text


def test_what_schemes_have_of_their_own_is_not_said_of_all(scenario_with, tmp_path, tiercut):
    results, page = tmp_path / "results", tmp_path / "page.html"
    own = ("--override", "locsfl:training.batch=4", "--override", "locsfl:training.server_share=1")
    terms = ("--schemes", "sfl,locsfl", "--seeds", 1, "--rounds", 1)
    tiercut("compare", scenario_with(SHARE), *terms, *own, "-o", results)
    tiercut("report", results, "-o", page)
    summary = json.loads((results / "summary.json").read_text())
    assert summary.keys().isdisjoint({"batch", "server_share"})
    assert "<dt>batch</dt>" not in page.read_text()
