import json

import pytest

from tests.measure.instances import PLAN, record, results, write_manifest, write_run
from tiercut.errors import InputError
from tiercut.measure.decision import read_decision
from tiercut.measure.manifest import read_manifest
from tiercut.measure.points import Point, read_points
from tiercut.measure.results import read_results

# ------------------------------------------------------------------------------------- the points


@pytest.fixture
def rounds(tmp_path):
    return write_run(tmp_path, "sfl", 0, [0.1, 0.2]) / "rounds.jsonl"


def test_points_are_what_was_written(rounds):
    assert read_points(rounds) == (
        Point(round=1, accuracy=0.1, seconds=10.0, bytes=1000.0),
        Point(round=2, accuracy=0.2, seconds=20.0, bytes=2000.0),
    )


@pytest.mark.parametrize("torn", ['{"round": 3, "accu', json.dumps(record(3, 0.3)), "\x00\x00"])
def test_a_line_without_its_end_does_not_count(rounds, torn):
    whole = read_points(rounds)
    with rounds.open("a") as file:
        file.write(torn)
    assert read_points(rounds) == whole


def test_a_run_that_has_not_begun_has_no_points(tmp_path):
    assert read_points(tmp_path / "nothing" / "rounds.jsonl") == ()


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(InputError, match=r"cannot be read: Is a directory"):
        read_points(tmp_path)


def test_a_damaged_line_in_the_middle_is_named(rounds):
    rounds.write_text("{torn\n" + json.dumps(record(2, 0.3)) + "\n")
    with pytest.raises(InputError, match=r"rounds.jsonl: line 1: this is not JSON"):
        read_points(rounds)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1.5", "null"])
def test_an_accuracy_that_is_none_is_refused(rounds, number):
    rounds.write_text(f'{{"round": 1, "accuracy": {number}, "seconds": 1.0, "bytes": 1.0}}\n')
    with pytest.raises(InputError, match=rf"line 1: accuracy is {number}; expected"):
        read_points(rounds)


def test_rounds_come_one_after_another(rounds):
    rounds.write_text(json.dumps(record(1, 0.1)) + "\n" + json.dumps(record(3, 0.1)) + "\n")
    with pytest.raises(InputError, match="line 2 is of round 3; expected round 2"):
        read_points(rounds)


# ----------------------------------------------------------------------------------- the decision


def decided(folder, **changes):
    path = folder / "plan.json"
    path.write_text(json.dumps({**PLAN, **changes}))
    return read_decision(path).to_dict()


def test_a_decision_on_three_tiers(tmp_path):
    assert decided(tmp_path) == {
        "aggregator_layer": 2,
        "cut_layer": 4,
        "aggregators": 2,
        "round_seconds": 2.0,
        "round_bytes": 100.0,
        "binding": "the server",
    }


def test_on_two_tiers_nobody_aggregates_and_cuts_are_named_once(tmp_path):
    found = decided(tmp_path, aggregator_layer=None, cut_layer=None, cut_layers=[5, 3, 5])
    assert (found["aggregators"], found["cut_layer"], found["cut_layers"]) == (None, None, [3, 5])


# ------------------------------------------------------------------------------------ the manifest


def test_a_folder_without_a_comparison_is_told_how_to_make_one(tmp_path):
    with pytest.raises(InputError, match="tiercut compare SCENARIO -o"):
        read_manifest(tmp_path)


def test_the_folder_of_a_single_run_is_no_comparison(tmp_path):
    (tmp_path / "manifest.json").write_text('{"version": 1, "scheme": "sfl"}')
    with pytest.raises(InputError, match="this is no comparison's manifest"):
        read_manifest(tmp_path)


def test_the_rounds_of_a_scheme_may_be_its_own(tmp_path):
    write_manifest(tmp_path, ["sfl", "dtfl"], overrides={"sfl": {"training.rounds": 7}})
    manifest = read_manifest(tmp_path)
    assert (manifest.rounds_of("sfl"), manifest.rounds_of("dtfl")) == (7, 3)


# ------------------------------------------------------------------------------------- the results


def test_finished_runs_are_counted_and_others_only_while_there_is_none(tmp_path):
    found = results(
        tmp_path,
        {"sfl": {0: [0.1, 0.2, 0.3], 1: [0.2]}, "dtfl": {0: [0.1, 0.2], 1: [0.2]}},
        seeds=[0, 1, 2],
    )
    sfl, dtfl = found.contenders
    assert [run.seed for run in sfl.counted] == [0]
    assert [len(curve) for curve in sfl.curves] == [3]
    assert [run.seed for run in dtfl.counted] == [0, 1]
    assert [len(curve) for curve in dtfl.curves] == [1, 1]
    assert not sfl.is_complete
    assert [run.seed for run in sfl.runs] == [0, 1, 2]


def test_a_scheme_that_has_not_begun_has_nothing_to_show(tmp_path):
    found = results(tmp_path, {"sfl": {0: [0.1]}, "dtfl": {}})
    assert [contender.name for contender in found.begun] == ["sfl"]
    assert found.contenders[1].curves == ()


def test_rounds_beyond_those_asked_for_do_not_count(tmp_path):
    (found,) = results(tmp_path, {"sfl": {0: [0.1, 0.2, 0.3, 0.4, 0.5]}}).contenders
    assert found.is_complete
    assert len(found.runs[0].points) == 3


def test_a_run_with_rounds_and_without_a_plan_is_refused(tmp_path):
    write_manifest(tmp_path, ["sfl"])
    (write_run(tmp_path, "sfl", 0, [0.1]) / "plan.json").unlink()
    with pytest.raises(InputError, match=r"plan.json: there is no such file"):
        read_results(tmp_path)
