import json

from tests.measure.instances import results, write_manifest, write_run
from tests.train.instances import BASE
from tiercut.measure.summary import summarise, write_summary

RUNS = {
    "sfl": {0: [0.2, 0.4, 0.6], 1: [0.3, 0.5, 0.7]},
    "aa-hsfl-ll": {0: [0.2, 0.7, 0.8], 1: [0.3, 0.6, 0.9]},
}


def test_the_summary_says_all(tmp_path):
    found = summarise(results(tmp_path, RUNS), [0.6, 0.85])
    assert {key: found[key] for key in ("name", "model", "data", "clients")} == {
        "name": "tiny",
        "model": "tests.train.instances:net",
        "data": "digits",
        "clients": 5,
    }
    assert (found["batch"], found["epochs"], found["rounds"], found["cost"]) == (4, 2, 3, "paper")
    assert found["targets"] == [0.6, 0.85]
    sfl, ours = found["schemes"]["sfl"], found["schemes"]["aa-hsfl-ll"]
    assert (sfl["title"], sfl["seeds"], sfl["rounds_done"]) == ("SFL", [0, 1], [3, 3])
    assert (sfl["complete"], sfl["counted"]) == (True, [0, 1])
    assert sfl["final_accuracy"]["values"] == [0.6, 0.7]
    assert ours["best_accuracy"]["high"] == 0.9
    assert sfl["curve"]["round"] == [1, 2, 3]
    assert sfl["curve"]["accuracy"]["low"] == [0.2, 0.4, 0.6]
    assert sfl["curve"]["accuracy"]["mean"][:2] == [0.25, 0.45]
    assert sfl["curve"]["seconds"] == [10.0, 20.0, 30.0]
    assert sfl["curve"]["bytes"] == [1000.0, 2000.0, 3000.0]
    assert sfl["targets"]["0.6"]["rounds"]["values"] == [3, 3]
    assert ours["targets"]["0.85"]["reached"] == 1
    assert sfl["targets"]["0.85"]["seconds"] is None
    assert sfl["decision"]["binding"] == "the server"
    (gain,) = found["gains"]
    assert (gain["scheme"], gain["over"], gain["target"]) == ("aa-hsfl-ll", "sfl", 0.6)
    assert abs(gain["seconds"] - 1 / 3) < 1e-12


def test_momentum_is_named_where_all_have_the_same(tmp_path):
    scenario = {**BASE, "training": {**BASE["training"], "outer_momentum": 0.8}}
    read = results(tmp_path / "alike", RUNS, scenario=scenario)
    assert summarise(read)["outer_momentum"] == 0.8
    own = {"sfl": {"training.outer_momentum": 0.0}}
    read = results(tmp_path / "apart", RUNS, scenario=scenario, overrides=own)
    assert "outer_momentum" not in summarise(read)


def test_targets_are_those_given_else_asked_for_else_chosen(tmp_path):
    read = results(tmp_path, RUNS, targets=[0.5])
    assert summarise(read)["targets"] == [0.5]
    assert summarise(read, [0.4])["targets"] == [0.4]
    write_manifest(tmp_path, RUNS, seeds=[0, 1])
    assert write_summary(tmp_path)["targets"] == [0.42, 0.51, 0.6]


def test_missing_seeds_and_schemes_leave_something_to_look_at(tmp_path):
    read = results(tmp_path, {"dtfl": {}, **RUNS, "locsfl": {0: [0.5]}}, seeds=[0, 1, 2])
    found = summarise(read, [0.4])
    assert list(found["schemes"]) == ["sfl", "aa-hsfl-ll", "locsfl"]
    sfl, locsfl = found["schemes"]["sfl"], found["schemes"]["locsfl"]
    assert (sfl["seeds"], sfl["rounds_done"], sfl["counted"]) == ([0, 1, 2], [3, 3, 0], [0, 1])
    assert not sfl["complete"]
    assert (sfl["targets"]["0.4"]["reached"], sfl["targets"]["0.4"]["of"]) == (2, 3)
    assert (locsfl["curve"]["round"], locsfl["final_accuracy"]["values"]) == ([1], [0.5])
    assert found["gains"] == []


def test_nothing_at_all_is_a_summary_too(tmp_path):
    write_manifest(tmp_path, RUNS)
    found = write_summary(tmp_path)
    assert (found["schemes"], found["targets"], found["gains"]) == ({}, [], [])


def test_the_file_is_the_same_every_time(tmp_path):
    results(tmp_path, RUNS)
    found = write_summary(tmp_path)
    before = (tmp_path / "summary.json").read_bytes()
    assert json.loads(before) == found
    with (tmp_path / "sfl" / "seed-0" / "rounds.jsonl").open("a") as file:
        file.write('{"round": 4, "acc')
    write_summary(tmp_path)
    assert (tmp_path / "summary.json").read_bytes() == before
    assert [path.name for path in tmp_path.glob(".*")] == []


def test_wall_clocks_change_nothing(tmp_path):
    results(tmp_path / "one", RUNS)
    results(tmp_path / "two", {**RUNS, "sfl": {0: RUNS["sfl"][0]}}, seeds=[0, 1])
    plan = tmp_path / "one" / "sfl" / "seed-0" / "plan.json"
    slower = json.loads(plan.read_text()) | {"wall_seconds": 99.0}
    write_run(tmp_path / "two", "sfl", 1, RUNS["sfl"][1], plan=slower)
    for folder in ("one", "two"):
        write_summary(tmp_path / folder)
    one, two = (tmp_path / folder / "summary.json" for folder in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()
