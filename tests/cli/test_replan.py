import json

import pytest


def remove(clients):
    """Take some clients, by number, out of a fleet file's value."""

    def change(fleet):
        kept = [n for n in range(len(fleet["clients"])) if n not in clients]
        links = fleet["links"]
        fleet["clients"] = [fleet["clients"][n] for n in kept]
        links["to_server"] = [links["to_server"][n] for n in kept]
        links["between"] = [[links["between"][n][k] for k in kept] for n in kept]

    return change


def slow_down(client, factor):
    def change(fleet):
        fleet["clients"][client]["throughput"] /= factor

    return change


@pytest.fixture
def again(as_json, plan, profile):
    """Plan again on another fleet file."""
    return lambda fleet, *more: as_json(
        "replan", plan, "--fleet", fleet, "--profile", profile, *more
    )


def test_on_the_same_fleet_nothing_is_gained(again, fleet, plan):
    made = again(fleet)
    replaces = made["replaces"]
    assert set(replaces) == {"round_seconds", "gain", "left", "joined"}
    assert 0 <= replaces["gain"] <= 1e-6
    assert replaces["left"] == replaces["joined"] == []
    assert replaces["round_seconds"] == json.loads(plan.read_text())["round_seconds"]
    assert set(json.loads(plan.read_text())) <= set(made)


def test_a_weakened_aggregator_makes_a_new_plan_worth_it(again, fleet, edited, plan):
    aggregator = json.loads(plan.read_text())["aggregator_of"][0]
    made = again(edited(fleet, slow_down(aggregator, 10)))
    gain = made["replaces"]["gain"]
    assert gain > 0.1
    assert gain == pytest.approx(1 - made["round_seconds"] / made["replaces"]["round_seconds"])


def test_clients_that_leave_and_join_are_known_by_name(again, fleet, edited, plan):
    def change(file):
        remove({0})(file)
        file["clients"][3]["name"] = "newcomer"

    made = again(edited(fleet, change))
    assert made["replaces"]["left"] == ["client-1", "client-5"]
    assert made["replaces"]["joined"] == ["newcomer"]
    assert made["clients"][3] == "newcomer"
    assert len(made["aggregator_of"]) == 7


def test_the_candidate_cuts_are_those_of_the_old_plan_unless_others_are_given(again, fleet):
    assert again(fleet)["cuts"] == [7, 8]
    assert again(fleet, "--cuts", "6")["cut_layer"] == 6


def test_the_new_plan_is_written_and_can_be_planned_again(tiercut, again, fleet, plan, tmp_path):
    path = tmp_path / "new.json"
    files = ("--fleet", fleet, "--profile", "vgg11")
    tiercut("replan", plan, *files, "-o", path)
    tiercut("replan", path, *files)
    made = json.loads(path.read_text())
    assert {**made, "wall_seconds": 0} == {**again(fleet), "wall_seconds": 0}


def test_a_person_is_told_who_left_and_what_is_gained(tiercut, fleet, edited, plan, profile):
    smaller = edited(fleet, remove({6}))
    shown = tiercut("replan", plan, "--fleet", smaller, "--profile", profile).stdout
    assert "left: client-7" in shown
    assert "joined" not in shown
    assert "keeping the old plan" in shown


def test_an_old_plan_without_groups_is_refused(tiercut, refusal, inputs, tmp_path):
    path = tmp_path / "sfl.json"
    tiercut("plan", *inputs, "--solver", "sfl", "-o", path)
    assert "use `tiercut plan`" in refusal("replan", path, *inputs)


def test_a_nameless_plan_of_another_size_is_refused(refusal, fleet, edited, plan, profile):
    nameless = edited(plan, lambda file: file.pop("clients"))
    smaller = edited(fleet, remove({1}))
    said = refusal("replan", nameless, "--fleet", smaller, "--profile", profile)
    assert "no client names" in said


def test_a_shallower_model_than_the_plan_is_for_is_refused(refusal, fleet, plan):
    said = refusal("replan", plan, "--fleet", fleet, "--profile", "small")
    assert "a model of 7 layers" in said
