"""`tiercut tune`: a setting for every scheme, from examples that nobody trains on."""

import json

import pytest
from typer.testing import CliRunner

from tests.cli.test_compare import SCENARIO
from tiercut.cli import app
from tiercut.errors import InputError

WORDS = ("--schemes", "sfl,aa-hsfl-ll", "--rounds", 2, "-o", "tuned")


@pytest.fixture
def scenario(tmp_path):
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO.replace("examples = 12", "examples = 40"))
    return path


def test_every_scheme_gets_its_best_rate(tiercut, scenario, tmp_path):
    ran = tiercut("tune", scenario, *WORDS, "--rates", "1e-2,1e-4")
    value = json.loads((tmp_path / "tuned" / "tuning.json").read_text())
    for name, found in value["schemes"].items():
        assert list(found["tried"]) == ["rate-0.0001", "rate-0.01"]
        best = max(found["tried"], key=lambda label: found["tried"][label]["accuracy"])
        assert found["best"] == best
        rate = best.removeprefix("rate-")
        assert f"--override {name}:training.rate={rate}" in ran.stdout.replace("\n", " ")
    assert "best at the lowest or the highest training.rate; try values beyond" in ran.stdout
    assert (tmp_path / "tuned" / "rate-0.01" / "summary.json").exists()


def test_every_scheme_gets_the_setting_that_is_there_first(tiercut, scenario, tmp_path):
    words = ("--try", "plan.cuts=[[3],[5]]", "--try", "sfl:plan.cuts=[[1],[5]]")
    aim = ("--objective", "time-to-accuracy", "--target", 5)
    ran = tiercut("tune", scenario, *WORDS, *words, *aim)
    value = json.loads((tmp_path / "tuned" / "tuning.json").read_text())
    assert (value["objective"], value["target"]) == ("time-to-accuracy", 0.05)
    assert list(value["schemes"]["sfl"]["tried"]) == ["cuts-1", "cuts-5"]
    assert list(value["schemes"]["aa-hsfl-ll"]["tried"]) == ["cuts-3", "cuts-5"]
    for name, found in value["schemes"].items():
        best = min(found["tried"].values(), key=lambda one: one["seconds"])
        assert found["tried"][found["best"]] == best
        cuts = json.dumps(best["own"]["plan.cuts"])
        assert f"--override '{name}:plan.cuts={cuts}'" in ran.stdout.replace("\n", " ")
    assert "time to 5 % on examples kept back" in ran.stdout


def points_in(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_run_is_over_once_it_is_there(as_json, scenario, tmp_path):
    words = ("tune", scenario, "--schemes", "sfl", "--rounds", 3, "-o", "tuned", "--rates", "1e-3")
    aim = ("--objective", "time-to-accuracy", "--target")
    path = tmp_path / "tuned" / "rate-0.001" / "sfl" / "seed-0" / "rounds.jsonl"
    tried = as_json(*words, *aim, 2)["schemes"]["sfl"]["tried"]["rate-0.001"]
    points = points_in(path)
    assert points[-1]["accuracy"] >= 0.02 > max([0.0, *(p["accuracy"] for p in points[:-1])])
    assert tried["seconds"] == points[-1]["seconds"]
    before = path.stat().st_mtime_ns
    assert as_json(*words, *aim, 1)["schemes"]["sfl"]["tried"]["rate-0.001"]["seconds"]
    assert path.stat().st_mtime_ns == before
    # What is not asked to be anywhere has all its rounds.
    assert as_json(*words)["schemes"]["sfl"]["best"] == "rate-0.001"
    assert len(points_in(path)) == 3


def failing(*words):
    """What is shown, and what is said in the end."""
    result = CliRunner().invoke(app, [str(word) for word in ("tune", *words)])
    assert type(result.exception) is InputError
    return result.stdout, str(result.exception)


def test_a_target_that_nobody_reaches_is_told(scenario, tmp_path):
    aim = ("--objective", "bytes-to-accuracy", "--target", 100, "--rates", "1e-4")
    shown, said = failing(scenario, *WORDS, *aim)
    assert "not reached" in shown
    assert said == "sfl did not reach 100 % in any setting; give more --rounds, or a lower target"
    value = json.loads((tmp_path / "tuned" / "tuning.json").read_text())
    assert value["schemes"]["sfl"]["best"] is None


def test_it_goes_on_where_it_was_and_may_try_more(tiercut, scenario, as_json, tmp_path):
    tiercut("tune", scenario, *WORDS, "--rates", "1e-2")
    path = tmp_path / "tuned" / "rate-0.01" / "sfl" / "seed-0" / "rounds.jsonl"
    before = path.stat().st_mtime_ns
    found = as_json("tune", scenario, *WORDS, "--rates", "1e-3,1e-2")
    assert path.stat().st_mtime_ns == before
    assert list(found["schemes"]["sfl"]["tried"]) == ["rate-0.001", "rate-0.01"]


def test_processes_of_their_own_find_the_same(as_json, scenario, tmp_path):
    words = ("tune", scenario, "--schemes", "sfl", "--rounds", 2, "--rates", "1e-2", "-o")
    assert as_json(*words, "alone") == as_json(*words, "beside", "--at-once", 2)
    one, other = (
        (tmp_path / folder / "rate-0.01" / "summary.json").read_bytes()
        for folder in ("alone", "beside")
    )
    assert one == other


def test_a_rate_at_which_training_diverges_is_not_taken(as_json, scenario):
    words = ("tune", scenario, "--schemes", "sfl", "--rounds", 2, "-o", "tuned", "--rates")
    found = as_json(*words, "1e-2,1e30")["schemes"]["sfl"]
    assert found["tried"]["rate-1e+30"]["accuracy"] is None
    assert found["best"] == "rate-0.01"
    words = (scenario, "--schemes", "sfl", "--rounds", 2, "-o", "none", "--rates", "1e30")
    assert failing(*words)[1] == "sfl did not get to its end in any setting; try lower --rates"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--rates", "fast"), "expected numbers above 0, such as 1e-4"),
        (("--rates", "0,1"), "expected numbers above 0, such as 1e-4"),
        (("--override", "sfl:training.rate=1"), "leave --override sfl:training.rate away"),
        (("--try", "plan.cuts=[[3],[9]]"), "cut layer 9 is outside 1 to 6"),
        (("--try", "plan.cuts=3"), "is no list of values to try"),
        (("--rates", "1", "--try", "training.rate=[2]"), "both say what rates to try"),
        (("--target", 50), "--target goes with --objective"),
        (("--objective", "time"), "there is no objective 'time'"),
        (("--objective", "time-to-accuracy"), "--target is missing"),
    ],
)
def test_what_makes_no_sense_is_refused(refusal, scenario, words, message):
    assert message in refusal("tune", scenario, *WORDS, *words)


def test_a_client_must_have_something_to_give(refusal, scenario):
    scenario.write_text(SCENARIO.replace("examples = 12", "examples = 9"))
    assert "no client has 10 examples" in refusal("tune", scenario, *WORDS)
