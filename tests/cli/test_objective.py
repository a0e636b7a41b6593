"""`tiercut plan --objective`: from a probe or runs to the plan that reaches a target first."""

import json
from pathlib import Path

import pytest

from tests.probe.instances import found
from tests.test_docs import documented_fields, fields
from tiercut.documents import to_json
from tiercut.errors import InfeasibleError
from tiercut.scenario import read_scenario

TIME = ("--objective", "time-to-accuracy", "--target")
BYTES = ("--objective", "bytes-to-accuracy", "--target")

SCENARIO = """name = "x"
[model]
name = "small"
[fleet]
clients = 6
examples = 40
[training]
batch = 16
"""
QUICK, SLOW = [0.3, 0.5, 0.7, 0.8], [0.2, 0.3, 0.4, 0.6]


@pytest.fixture
def scenario(tmp_path):
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO)
    return path


@pytest.fixture
def probe(tmp_path):
    """The file of a probe of `small`: cut 3 learns quickly, cuts 4 and 5 slowly."""
    path = tmp_path / "probe.json"
    table = [[[a - 0.01, a + 0.01] for a in row] for row in (QUICK, SLOW, SLOW)]
    path.write_text(to_json(found(table).to_dict()))
    return path


@pytest.fixture
def runs(tmp_path, scenario):
    """A folder of runs at three cuts that reach 80 % after 4, 6 and 8 rounds."""
    like = json.loads(read_scenario(scenario).model_dump_json())
    for v, rounds in ((3, 4), (4, 6), (5, 8)):
        path = tmp_path / "runs" / f"v-{v}"
        path.mkdir(parents=True)
        manifest = {"version": 1, "scheme": "aa-hsfl-ll", "scenario": like}
        (path / "manifest.json").write_text(json.dumps(manifest))
        decided = {"aggregator_layer": 2, "cut_layer": v, "aggregators": 3, "clients": 6}
        lines = [
            {"round": n, "accuracy": 0.8 * n / rounds, "seconds": n, "bytes": n, **decided}
            for n in range(1, rounds + 1)
        ]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (path / "rounds.jsonl").write_text(text)
    return tmp_path / "runs"


def test_a_probe_leads_to_a_plan_for_a_target(as_json, scenario, probe):
    value = as_json("plan", scenario, *TIME, 75, "--probe", probe)
    aim = value["objective"]
    assert (aim["kind"], aim["target"]) == ("time-to-accuracy", 0.75)
    assert aim["rounds_low"] <= aim["rounds"] <= aim["rounds_high"]
    assert aim["total_seconds"] == pytest.approx(aim["rounds"] * value["round_seconds"])
    assert aim["total_bytes"] == pytest.approx(aim["rounds"] * value["bytes"]["total"])
    assert aim["lower_bound"] <= aim["total_seconds"]
    assert value["cuts"] == [3, 4, 5]  # slow ones are not ruled out by the probe's threshold
    assert value["lower_bound_seconds"] is None
    chosen = as_json("plan", scenario, *TIME, 75, "--probe", probe, "--threshold", 1)
    assert chosen["cuts"] == [3]


def test_bytes_can_be_aimed_at_too(as_json, scenario, probe):
    lean = as_json("plan", scenario, *BYTES, 75, "--probe", probe)["objective"]
    quick = as_json("plan", scenario, *TIME, 75, "--probe", probe)["objective"]
    assert lean["total_bytes"] <= quick["total_bytes"]
    assert lean["total_seconds"] >= quick["total_seconds"]
    assert lean["gap"] == 0


def test_a_person_reads_what_it_takes_and_what_that_rests_on(tiercut, scenario, probe):
    words = " ".join(tiercut("plan", scenario, *TIME, 75, "--probe", probe).stdout.split())
    assert "75 % after about" in words
    assert "if rounds are as estimated, no plan takes less than" in words
    assert "estimated from a probe of 4 epochs, 3 to a round" in words
    lean = " ".join(tiercut("plan", scenario, *BYTES, 75, "--probe", probe).stdout.split())
    assert "B: this one is within 0.00% of the best possible" in lean


def test_runs_lead_to_a_plan_beyond_the_probe(as_json, refusal, scenario, probe, runs):
    assert "targets up to 79" in refusal("plan", scenario, *TIME, 80, "--probe", probe)
    value = as_json("plan", scenario, *TIME, 80, "--learn", runs, "--cuts", "3-5")
    assert "3 runs of 3 settings" in value["objective"]["evidence"]
    both = as_json("plan", scenario, *TIME, 80, "--learn", runs, "--probe", probe)
    assert "the probe lacks" not in both["objective"]["evidence"]
    wider = as_json("plan", scenario, *TIME, 80, "--learn", runs, "--probe", probe, "--cuts", "3-6")
    assert "the probe lacks some of these cuts" in wider["objective"]["evidence"]


def test_a_plan_with_a_goal_is_read_like_any_other(tiercut, as_json, scenario, probe):
    tiercut("plan", scenario, *TIME, 75, "--probe", probe, "-o", "plan.json")
    planned = json.loads(Path("plan.json").read_text())
    assert as_json("cost", scenario, "--plan", "plan.json")["seconds"]["round"] == pytest.approx(
        planned["round_seconds"]
    )


def test_the_documented_fields_are_those_of_the_file(as_json, scenario, probe):
    value = as_json("plan", scenario, *TIME, 75, "--probe", probe)
    written = set(fields({"objective": value["objective"]}))
    assert set(documented_fields("objective")) == written


def test_options_that_say_too_little_are_refused(refusal, scenario, probe):
    assert "--target goes with --objective" in refusal("plan", scenario, "--target", 75)
    assert "--learn goes with --objective" in refusal("plan", scenario, "--learn", "runs")
    assert "--target is missing" in refusal("plan", scenario, *TIME[:2], "--probe", probe)
    assert "--target is 0;" in refusal("plan", scenario, *TIME, 0, "--probe", probe)
    assert "--target is nan;" in refusal("plan", scenario, *TIME, "nan", "--probe", probe)
    assert "needs to know how many rounds" in refusal("plan", scenario, *TIME, 75)
    message = refusal("plan", scenario, "--objective", "time-to-acuracy", "--target", 75)
    assert "did you mean 'time-to-accuracy'?" in message


def test_options_that_would_be_ignored_are_refused(refusal, scenario, probe):
    words = ("plan", scenario, *TIME, 75, "--probe", probe)
    assert "leave --solver brute away" in refusal(*words, "--solver", "brute")
    assert "leave --slack away" in refusal(*words, "--slack", "1%")
    assert "leave --time-limit away" in refusal(*words, "--time-limit", "5 s")
    assert "leave --objective away" in refusal(*words, "--pareto", "p.svg")


def test_evidence_about_something_else_is_refused(refusal, scenario, probe, runs, edited, inputs):
    def other(value):
        value["model"] = "vgg11"

    message = refusal("plan", scenario, *TIME, 75, "--probe", edited(probe, other), "--cuts", 3)
    assert "is a probe of vgg11 and the plan is for small" in message
    assert "give a scenario file" in refusal("plan", *inputs, *TIME, 75, "--learn", runs)
    batches = ("plan", scenario, *TIME, 75, "--learn", runs, "--batch", 8)
    assert "3 with another training.batch" in refusal(*batches)
    deep = ("plan", scenario, *TIME, 75, "--learn", runs, "--cuts", 6)
    assert "no evidence about any plan" in refusal(*deep, error=InfeasibleError)
