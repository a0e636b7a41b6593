import json

import pytest

from tests.compare.instances import carry_out, comparison, files
from tests.train.instances import repeatable
from tiercut.compare.check import check_comparison
from tiercut.compare.runs import Part, run_comparisons, train
from tiercut.compare.watcher import Watcher
from tiercut.errors import InputError
from tiercut.measure.results import run_path
from tiercut.measure.summary import write_summary
from tiercut.train.loop import run

DIVERGING = {"sfl": {"training.rate": 1e30, "training.optimiser": "sgd"}}


class Ear(Watcher):
    """Remembers what it is told."""

    def __init__(self, folder=None):
        self.heard, self.folder, self.seen = [], folder, []

    def on_finished(self, job, last):
        self.heard.append(("finished", str(job)))
        if self.folder:
            self.seen.append(json.loads((self.folder / "summary.json").read_text())["schemes"])

    def on_failed(self, job, message):
        self.heard.append(("failed", str(job)))


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A comparison that nobody disturbed; do not change its folder."""
    folder = tmp_path_factory.mktemp("compared") / "results"
    ear = Ear(folder)
    outcome = carry_out(comparison(), folder, watcher=ear)
    return folder, outcome, ear


# ---------------------------------------------------------------------------------- what it writes


def test_there_is_a_run_for_every_scheme_and_seed(done):
    folder, outcome, ear = done
    assert sorted(path.name for path in folder.iterdir()) == [
        "aa-hsfl-ll",
        "manifest.json",
        "sfl",
        "summary.json",
    ]
    assert sorted(path.name for path in (folder / "sfl").iterdir()) == ["seed-0", "seed-1"]
    assert all(scheme["complete"] for scheme in outcome.summary["schemes"].values())
    assert [what for what, _ in ear.heard] == ["finished"] * 4
    assert outcome.failures == ()


def test_a_summary_is_there_after_every_run(done):
    _, _, ear = done
    found = [{name: s["rounds_done"] for name, s in schemes.items()} for schemes in ear.seen]
    assert found == [
        {"sfl": [2, 0]},
        {"sfl": [2, 0], "aa-hsfl-ll": [2, 0]},
        {"sfl": [2, 2], "aa-hsfl-ll": [2, 0]},
        {"sfl": [2, 2], "aa-hsfl-ll": [2, 2]},
    ]


def test_the_summary_follows_from_the_runs_to_the_byte(done):
    folder, outcome, _ = done
    before = (folder / "summary.json").read_bytes()
    assert json.loads(before) == outcome.summary
    (folder / "summary.json").unlink()
    write_summary(folder)
    assert (folder / "summary.json").read_bytes() == before


def test_twice_the_same_scenario_is_twice_the_same_summary(done, tmp_path):
    folder, _, _ = done
    carry_out(comparison(), tmp_path)
    assert (tmp_path / "summary.json").read_bytes() == (folder / "summary.json").read_bytes()


def test_a_run_is_what_train_makes_of_it(done, tmp_path):
    folder, _, _ = done
    made = comparison()
    run(made.setting(made.jobs[3]), tmp_path / "alone")
    assert repeatable(tmp_path / "alone") == repeatable(run_path(folder, "aa-hsfl-ll", 1))


def test_schemes_that_train_the_same_are_trained_both(tmp_path):
    own = {"sfl": {"plan.cuts": [4]}, "multihop": {"plan.cuts": [4]}}
    made = comparison(("sfl", "multihop"), (0,), overrides=own)
    summary = carry_out(made, tmp_path).summary
    sfl, multihop = (summary["schemes"][name] for name in ("sfl", "multihop"))
    assert sfl["curve"]["accuracy"] == multihop["curve"]["accuracy"]
    assert sfl["curve"]["bytes"] != multihop["curve"]["bytes"]


def test_the_manifest_says_what_is_compared(tmp_path):
    made = comparison(("hsfl-ll",), (3,), fixed="2,4,40%", overrides={"hsfl-ll": DIVERGING["sfl"]})
    manifest = check_comparison(made, tmp_path, targets=(0.5,), command=["tiercut", "compare"])
    assert (manifest.schemes, manifest.seeds, manifest.clients) == (("hsfl-ll",), (3,), 5)
    assert (manifest.titles, manifest.fixed) == ({"hsfl-ll": "HSFL-ll"}, "2,4,40%")
    assert manifest.overrides["hsfl-ll"]["training.rate"] == 1e30
    assert (manifest.targets, manifest.command) == ((0.5,), ("tiercut", "compare"))
    assert manifest.device == "cpu"
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------------------------------- going on


def test_finished_runs_are_kept_and_a_comparison_may_grow(tmp_path):
    carry_out(comparison(("sfl",), (0,)), tmp_path)
    first = (run_path(tmp_path, "sfl", 0) / "manifest.json").read_bytes()
    grown, ear = comparison(("locsfl", "sfl"), (0, 4)), Ear()
    carry_out(grown, tmp_path, watcher=ear)
    assert len(ear.heard) == 4
    assert (run_path(tmp_path, "sfl", 0) / "manifest.json").read_bytes() == first
    longer = carry_out(comparison(("locsfl", "sfl"), (0, 4), rounds=3), tmp_path).summary
    assert longer["schemes"]["sfl"]["rounds_done"] == [3, 3]
    carry_out(comparison(("locsfl", "sfl"), (0, 4), rounds=3), tmp_path / "whole")
    whole, grown_up = tmp_path / "whole" / "summary.json", tmp_path / "summary.json"
    assert whole.read_bytes() == grown_up.read_bytes()


def test_a_comparison_does_not_lose_what_it_has(done):
    folder, _, _ = done
    with pytest.raises(InputError, match="the scheme aa-hsfl-ll is not named now; name all"):
        check_comparison(comparison(("sfl",)), folder)
    with pytest.raises(InputError, match="seed 1 is not named now"):
        check_comparison(comparison(seeds=(0, 2)), folder)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"changes": {"training": {"rate": 0.5}}}, "sfl/seed-0/.*training.rate was 0.001 and is"),
        ({"changes": {"fleet": {"clients": 6}}}, "fleet.clients was 5 and is 6"),
        ({"overrides": {"aa-hsfl-ll": {"plan.cuts": [4]}}}, "aa-hsfl-ll/seed-0/.*plan.cuts was"),
    ],
)
def test_a_changed_scenario_is_refused_and_nothing_is_touched(done, options, says):
    folder, _, _ = done
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    with pytest.raises(InputError, match=says):
        carry_out(comparison(**options), folder)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_a_run_whose_manifest_lacks_something_is_named(tmp_path):
    made = comparison(("sfl",), (0,), rounds=1)
    carry_out(made, tmp_path)
    manifest = run_path(tmp_path, "sfl", 0) / "manifest.json"
    manifest.write_text('{"version": 1, "scenario": {}}')
    with pytest.raises(InputError, match=r"seed-0/manifest.json: inputs is missing"):
        check_comparison(made, tmp_path)


def test_an_executor_that_does_not_fit_is_refused_before_anything_is_written(tmp_path):
    made = comparison(changes={"engine": {"executor": "graph"}})
    with pytest.raises(InputError, match="executor is graph"):
        check_comparison(made, tmp_path)
    reference = comparison(("sfl",), (0,), changes={"engine": {"name": "reference"}})
    assert check_comparison(reference, tmp_path).device == "cpu"


def test_cuts_that_the_model_does_not_have_are_refused_before_anything_is_written(tmp_path):
    made = comparison(overrides={"aa-hsfl-ll": {"plan.cuts": [3, 40]}})
    with pytest.raises(InputError, match=r"^aa-hsfl-ll, seed 0: cut layer 40 is outside"):
        check_comparison(made, tmp_path)


# ----------------------------------------------------------------------------------------- failing


def test_a_run_that_diverges_does_not_keep_the_others_back(tmp_path):
    made, ear = comparison(overrides=DIVERGING, seeds=(0,)), Ear()
    outcome = carry_out(made, tmp_path, watcher=ear)
    assert ear.heard == [("failed", "sfl, seed 0"), ("finished", "aa-hsfl-ll, seed 0")]
    assert list(outcome.summary["schemes"]) == ["aa-hsfl-ll"]
    (failure,) = outcome.failures
    assert failure.startswith("sfl, seed 0: training diverged in round 1")
    assert carry_out(made, tmp_path).failures == outcome.failures


def test_several_comparisons_are_trained_as_one_and_each_has_its_own_outcome(tmp_path):
    alone = tmp_path / "alone"
    carry_out(comparison(seeds=(0,)), alone)
    ear, parts = Ear(), []
    for label, changed in (("usual", {}), ("fast", DIVERGING)):
        made = comparison(seeds=(0,), overrides=changed, label=label)
        folder = tmp_path / label
        parts.append(Part(made, folder, check_comparison(made, folder)))
    usual, fast = run_comparisons(parts, watcher=ear)
    assert [job for _, job in ear.heard] == [
        f"{name}, seed 0, {label}" for label in ("usual", "fast") for name in ("sfl", "aa-hsfl-ll")
    ]
    assert usual.failures == ()
    assert (tmp_path / "usual" / "summary.json").read_bytes() == (
        alone / "summary.json"
    ).read_bytes()
    (failure,) = fast.failures
    assert failure.startswith("sfl, seed 0, fast: training diverged")
    assert list(fast.summary["schemes"]) == ["aa-hsfl-ll"]


def test_a_machine_that_does_not_see_the_comparison_does_not_train_elsewhere(tmp_path):
    made, nowhere = comparison(), tmp_path / "nowhere"
    part = Part(made, nowhere, check_comparison(made, nowhere))
    with pytest.raises(InputError, match=r"does not see .*nowhere; the machines of a cluster"):
        train({"": part}, made.jobs[0], print)
    assert not list(tmp_path.iterdir())


def test_weights_that_cannot_be_read_do_not_count_as_finished(tmp_path):
    made = comparison(("sfl",), (0,), rounds=1)
    carry_out(made, tmp_path)
    before = files(tmp_path, made, "rounds.jsonl")
    (run_path(tmp_path, "sfl", 0) / "model.safetensors").unlink()
    carry_out(made, tmp_path)
    assert (run_path(tmp_path, "sfl", 0) / "model.safetensors").exists()
    assert files(tmp_path, made, "rounds.jsonl") == before


def test_of_a_run_nothing_but_its_rounds_may_be_kept(tmp_path):
    made = comparison(("sfl",), (0,), rounds=1)
    carry_out(made, tmp_path, keep="rounds")
    left = {path.name for path in run_path(tmp_path, "sfl", 0).iterdir()}
    assert left == {"manifest.json", "plan.json", "rounds.jsonl"}
    before = run_path(tmp_path, "sfl", 0) / "rounds.jsonl"
    stamp = before.stat().st_mtime_ns
    assert carry_out(made, tmp_path, keep="rounds").failures == ()
    assert before.stat().st_mtime_ns == stamp


def test_checkpoints_can_be_dropped_and_more_rounds_start_again(tmp_path):
    made = comparison(("sfl",), (0,), rounds=1)
    carry_out(made, tmp_path, keep="weights")
    assert not list(tmp_path.rglob("round-*.safetensors"))
    assert carry_out(made, tmp_path).failures == ()
    longer = carry_out(comparison(("sfl",), (0,), rounds=2), tmp_path)
    assert longer.summary["schemes"]["sfl"]["rounds_done"] == [2]
