import json

import pytest

from tiercut.cost import SCHEMES


def test_the_cost_has_every_promised_key(as_json, inputs, plan):
    priced = as_json("cost", *inputs, "--plan", plan)
    assert set(priced) >= {
        "version",
        "scheme",
        "cost",
        "seconds",
        "bytes",
        "batches_per_epoch",
        "batch",
        "epochs",
        "binding",
    }
    phases = {"download", "forward", "backward", "server", "upload", "batch", "round"}
    assert set(priced["seconds"]) >= phases
    kinds = {"weights_down", "weights_up", "activations_to_server", "total", "labels"}
    assert set(priced["bytes"]) >= kinds
    assert priced["binding"].strip()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_plan_can_be_priced_as_any_scheme(as_json, inputs, plan, scheme):
    priced = as_json("cost", *inputs, "--plan", plan, "--scheme", scheme)
    assert priced["scheme"] == scheme
    two_tiers = not SCHEMES[scheme].three_tiers
    assert (priced["bytes"]["activations_to_aggregator"] == 0) == two_tiers
    assert (priced["bytes"]["gradients_from_server"] == 0) == SCHEMES[scheme].local_loss


def test_options_win_over_the_plan_and_the_plan_over_the_scenario(as_json, inputs, plan, tmp_path):
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(
        'name = "x"\n[model]\nname = "small"\n[training]\nbatch = 7\nepochs = 9\n'
        '[plan]\ncost = "network"\n'
    )
    keys = ("batch", "epochs", "cost")
    priced = as_json("cost", scenario, *inputs, "--plan", plan)
    assert [priced[key] for key in keys] == [32, 3, "paper"]
    options = ("--batch", 64, "--epochs", 1, "--cost", "network")
    priced = as_json("cost", scenario, *inputs, "--plan", plan, *options)
    assert [priced[key] for key in keys] == [64, 1, "network"]


def test_twice_the_epochs_take_twice_the_training(as_json, inputs, plan):
    def training(epochs):
        spent = as_json("cost", *inputs, "--plan", plan, "--epochs", epochs)["seconds"]
        return spent["round"] - spent["download"] - spent["upload"]

    assert training(4) == pytest.approx(2 * training(2), rel=1e-9)


def test_prices_in_the_plan_file_are_not_trusted(as_json, inputs, plan, edited):
    lying = edited(plan, lambda file: file.update(round_seconds=1.0, seconds={}, binding="a lie"))
    assert as_json("cost", *inputs, "--plan", lying) == as_json("cost", *inputs, "--plan", plan)


def test_the_least_plan_file_is_the_decision(as_json, inputs, plan, tmp_path):
    whole = json.loads(plan.read_text())
    kept = ("version", "aggregator_layer", "cut_layer", "aggregator_of")
    least = tmp_path / "least.json"
    least.write_text(json.dumps({key: whole[key] for key in kept}))
    priced = as_json("cost", *inputs, "--plan", least)
    assert priced["seconds"]["round"] == whole["round_seconds"]


def test_a_person_sees_tables(tiercut, inputs, plan):
    shown = tiercut("cost", *inputs, "--plan", plan).stdout
    assert "weights down" in shown
    assert "round (48 batches)" in shown
    assert "{" not in shown


def test_the_cuts_of_a_dtfl_plan_are_priced(as_json, tiercut, inputs, tmp_path):
    path = tmp_path / "dtfl.json"
    tiercut("plan", *inputs, "--solver", "dtfl", "-o", path)
    priced = as_json("cost", *inputs, "--plan", path)
    assert priced["scheme"] == "dtfl"
    assert priced["seconds"]["round"] == json.loads(path.read_text())["round_seconds"]
