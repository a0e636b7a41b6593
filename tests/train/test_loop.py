import json
import shutil
import threading

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from tests.train.instances import lines, repeatable, setting
from tests.train.test_kill import EVENTS
from tiercut import __version__
from tiercut.errors import InputError
from tiercut.plan.plan import read_plan
from tiercut.train.course import MOST_PLANS, Course
from tiercut.train.loop import run
from tiercut.train.observer import Observer

SLOW = {"weak": "50 MFLOP/s", "gamma": 8, "server": "2 GFLOP/s"}
"""Devices whose computing matters, so that plans differ."""


class Ear(Observer):
    """Remembers everything it is told."""

    def __init__(self):
        self.heard = []

    def on_warning(self, message):
        self.heard.append(message)

    def on_start(self, start):
        self.heard.append(("start", start.done, start.rounds))

    def on_replan(self, number, replanned):
        self.heard.append(("replan", number))

    def on_epoch(self, number, epochs):
        self.heard.append(("epoch", number, epochs))

    def on_round(self, record):
        self.heard.append(("round", record.round))

    def on_end(self):
        self.heard.append("end")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a run of two rounds with everything in it, and what was heard of it."""
    folder, ear = tmp_path_factory.mktemp("runs") / "run", Ear()
    run(setting(training={"rounds": 2}), folder, command=["tiercut", "train"], observers=[ear])
    return folder, ear


# ---------------------------------------------------------------------------------- what it writes


def test_the_folder_holds_the_run(finished):
    folder, _ = finished
    assert {path.name for path in folder.iterdir()} == {
        ".lock",
        "checkpoints",
        "manifest.json",
        "model.safetensors",
        "plan.json",
        "rounds.jsonl",
    }
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["version"] == 1
    assert (manifest["tiercut"], manifest["torch"]) == (__version__, torch.__version__)
    assert (manifest["seed"], manifest["scheme"], manifest["engine"]) == (
        0,
        "aa-hsfl-ll",
        "stacked",
    )
    assert manifest["command"] == ["tiercut", "train"]
    assert manifest["scenario"]["training"]["rounds"] == 2
    assert len(manifest["scenario_sha256"]) == 64


def test_the_model_can_be_loaded_and_gives_the_recorded_accuracy(finished):
    folder, _ = finished
    made = setting()
    model = made.task.model
    model.load_state_dict(load_file(folder / "model.safetensors"))
    test = made.test
    images = (torch.tensor(test.images) / 255 - test.mean[0]) / test.std[0]
    right = model.eval()(images.float()).argmax(1) == torch.tensor(test.labels)
    assert right.double().mean().item() == pytest.approx(lines(folder)[-1]["accuracy"], abs=3e-3)
    with safe_open(folder / "model.safetensors", "pt") as file:
        assert json.loads(file.metadata()["tiercut"])["round"] == 2


def test_the_clock_and_the_bytes_are_the_plans(finished):
    folder, _ = finished
    plan = json.loads((folder / "plan.json").read_text())
    for number, line in enumerate(lines(folder), start=1):
        assert line["round"] == number
        assert line["round_seconds"] == plan["round_seconds"]
        assert line["seconds"] == pytest.approx(number * plan["round_seconds"])
        assert line["bytes"] == pytest.approx(number * plan["bytes"]["total"])
        assert line["samples"] == 5 * 12 * 2
        assert (line["clients"], line["lost"]) == (5, 0)
    assert read_plan(folder / "plan.json").clients == setting().fleet.names


def test_observers_hear_everything_in_order(finished):
    _, ear = finished
    rounds = [[("epoch", n, 1), ("epoch", n, 2), ("round", n)] for n in (1, 2)]
    assert ear.heard == [("start", 0, 2), *rounds[0], *rounds[1], "end"]


def test_training_learns(tmp_path):
    made = setting(
        fleet={"examples": 200},
        training={"batch": 16, "rounds": 4, "epochs": 2, "rate": 5e-3},
        model={"name": "small"},
    )
    assert run(made, tmp_path / "run").best_accuracy > 0.8


def test_both_engines_train_the_same(tmp_path):
    weights = []
    for engine in ("stacked", "reference"):
        made = setting(
            engine={"name": engine, "precision": "fp64"},
            training={"participation": 0.7, "client_dropout": 0.4},
            events=EVENTS,
        )
        run(made, tmp_path / engine)
        weights.append(load_file(tmp_path / engine / "model.safetensors"))
    for key, value in weights[0].items():
        torch.testing.assert_close(value, weights[1][key], rtol=1e-9, atol=1e-10)
    same = [
        [(r["samples"], r["seconds"], r["clients"], r["lost"]) for r in lines(tmp_path / engine)]
        for engine in ("stacked", "reference")
    ]
    assert same[0] == same[1]


# ----------------------------------------------------------------------------- events and turnout


def test_a_changed_fleet_is_planned_anew_and_the_gain_recorded(tmp_path):
    events = [
        {"round": 2, "share": 0.6, "slow_down": 8.0},
        {"round": 3, "clients": ["client-1"], "leave": True},
    ]
    ear = Ear()
    made = setting(fleet=SLOW, events=events, training={"rounds": 3})
    run(made, tmp_path / "run", observers=[ear])
    first, second, third = lines(tmp_path / "run")
    assert [(line["replanned"], line["clients"]) for line in (first, second, third)] == [
        (False, 5),
        (True, 5),
        (True, 4),
    ]
    assert first["gain"] is None
    assert second["gain"] >= 0
    assert second["round_seconds"] > first["round_seconds"]
    assert [what for what in ear.heard if what[0] == "replan"] == [("replan", 2), ("replan", 3)]
    plan = json.loads((tmp_path / "run" / "plan.json").read_text())
    assert plan["replaces"]["left"] == ["client-1"]
    assert plan["clients"] == ["client-2", "client-3", "client-4", "client-5"]
    assert third["samples"] == 4 * 12 * 2


def legs(made, rounds=12):
    plan = made.planner.first(made.fleet)
    course = Course(made, 0, made.planner.decided(plan, made.fleet))
    return [course.leg(number) for number in range(1, rounds + 1)]


def test_a_share_of_the_clients_takes_part_and_is_planned_for():
    made = setting(fleet=SLOW, training={"participation": 0.5})
    turnouts = set()
    for leg in legs(made):
        present = leg.round.present
        assert present.shape == (2, 5)
        assert present.sum(axis=1).tolist() == [3, 3]
        here = np.flatnonzero(present[0])
        turnouts.add(tuple(here))
        served_by = leg.round.placement.aggregator_of
        assert set(served_by[here]) <= set(here)
        own = made.planner._price(
            made.fleet.subset(here),
            type(leg.plan.placement)(
                leg.round.placement.aggregator_layers[here],
                leg.round.placement.cut_layers[here],
                np.searchsorted(here, served_by[here]),
            ),
            "the test",
        )
        assert own.seconds.round == leg.plan.seconds.round
    assert len(turnouts) > 3


def test_only_so_many_plans_are_remembered(monkeypatch):
    monkeypatch.setattr("tiercut.train.course.MOST_PLANS", 2)
    made = setting(training={"participation": 0.5})
    few = [leg.plan.seconds.round for leg in legs(made)]
    monkeypatch.setattr("tiercut.train.course.MOST_PLANS", MOST_PLANS)
    assert few == [leg.plan.seconds.round for leg in legs(made)]


def test_if_nobody_is_left_the_model_stays_and_time_goes_on(tmp_path):
    doomed = {"client_dropout": 0.97, "rounds": 6, "epochs": 3}
    made = setting(scheme="locsfl", training=doomed, engine={"checkpoint_every": 1})
    run(made, tmp_path / "run")
    found = lines(tmp_path / "run")
    empty = [n for n, line in enumerate(found) if line["lost"] == line["clients"]]
    assert empty
    for n in empty:
        before = found[n - 1]["accuracy"] if n else None
        assert before is None or found[n]["accuracy"] == before
        assert found[n]["round_seconds"] > 0
        assert found[n]["samples"] > 0


# ---------------------------------------------------------------------------------------- resuming


def test_a_folder_with_a_run_is_refused_unless_told_what_to_do(finished, tmp_path):
    folder, _ = finished
    made = setting(training={"rounds": 2})
    with pytest.raises(InputError, match="holds a run already; go on with it with --resume"):
        run(made, folder)
    other = tmp_path / "run"
    run(setting(training={"rounds": 1}, seed=4), other)
    run(made, other, overwrite=True)
    assert repeatable(other) == repeatable(folder)


def test_a_finished_run_is_summed_up_again(finished):
    folder, _ = finished
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    summary = run(setting(training={"rounds": 2}), folder, resume=True)
    assert (summary.rounds, summary.new_rounds) == (2, 0)
    assert summary.accuracy == lines(folder)[-1]["accuracy"]
    assert before == {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


def test_a_run_without_its_model_gets_it_from_the_state(tmp_path):
    made = setting(training={"rounds": 1})
    run(made, tmp_path / "run")
    model = tmp_path / "run" / "model.safetensors"
    before = load_file(model)
    model.unlink()
    assert run(made, tmp_path / "run", resume=True).new_rounds == 0
    assert all(torch.equal(value, before[key]) for key, value in load_file(model).items())


def test_resuming_where_there_is_nothing_starts(tmp_path):
    assert run(setting(training={"rounds": 1}), tmp_path / "new", resume=True).new_rounds == 1


def test_a_run_with_events_goes_on_with_the_fleet_and_plan_it_had(tmp_path):
    fleet = {"fleet": SLOW, "events": EVENTS}
    run(setting(**fleet), tmp_path / "whole")
    for rounds in (1, 2, 3, 4):
        run(setting(training={"rounds": rounds}, **fleet), tmp_path / "parts", resume=True)
    assert repeatable(tmp_path / "parts") == repeatable(tmp_path / "whole")


def test_a_run_that_never_saved_starts_again(finished, tmp_path):
    folder, made = tmp_path / "run", setting(training={"rounds": 2})
    run(made, folder)
    for path in (folder / "checkpoints").iterdir():
        path.unlink()
    assert run(made, folder, resume=True).new_rounds == 0  # it is finished all the same
    (folder / "model.safetensors").unlink()
    assert run(made, folder, resume=True).new_rounds == 2
    assert repeatable(folder) == repeatable(finished[0])


def test_more_rounds_extend_a_run_elsewhere_and_otherwise_computed(finished, tmp_path):
    more = {"training": {"rounds": 3}}
    run(setting(**more), tmp_path / "whole")
    run(setting(training={"rounds": 2}), tmp_path / "parts")
    moved = (tmp_path / "parts").rename(tmp_path / "moved")
    ear = Ear()
    made = setting(**more, engine={"threads": 2, "executor": "threads", "checkpoint_every": 2})
    summary = run(made, moved, resume=True, command=["again"], observers=[ear])
    assert (summary.rounds, summary.new_rounds) == (3, 1)
    assert ear.heard[0] == ("start", 2, 3)
    assert repeatable(moved) == repeatable(tmp_path / "whole")
    manifest = json.loads((moved / "manifest.json").read_text())
    assert manifest["resumed"] == [{"after_round": 2, "command": ["again"]}]
    assert manifest["scenario"]["training"]["rounds"] == 3


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"seed": 1}, "seed was 0 and is 1"),
        ({"training": {"rate": 0.5}}, "training.rate was 0.001 and is 0.5"),
        ({"scheme": "locsfl"}, "the scheme is another one"),
        ({"engine": {"name": "reference"}}, 'engine.name was "stacked" and is "reference"'),
        ({"events": EVENTS}, "events was"),
    ],
)
def test_going_on_with_something_else_is_refused(finished, changes, sentence):
    folder, _ = finished
    changes = {**changes, "training": {"rounds": 3, **changes.get("training", {})}}
    with pytest.raises(InputError, match=rf"manifest.json.*{sentence}.*or start another"):
        run(setting(**changes), folder, resume=True)


def test_a_run_of_a_version_with_fewer_keys_goes_on(finished, tmp_path):
    folder = shutil.copytree(finished[0], tmp_path / "run")
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["scenario"]["training"]["server_share"]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert run(setting(training={"rounds": 3}), folder, resume=True).new_rounds == 1


@pytest.fixture
def three_of_four(tmp_path):
    """The folder of a run with three rounds of four done, and how to go on."""
    folder = tmp_path / "run"
    run(setting(training={"rounds": 3}), folder)

    def go_on(*observers):
        return run(setting(), folder, resume=True, observers=observers)

    return folder, go_on


def test_records_beyond_the_checkpoint_are_dropped_and_so_is_a_torn_line(three_of_four, tmp_path):
    folder, go_on = three_of_four
    path = folder / "rounds.jsonl"
    last = path.read_text().splitlines()[-1]
    path.write_text(path.read_text() + last.replace('"round": 3', '"round": 4') + '\n{"round": 5')
    assert go_on().rounds == 4
    run(setting(), tmp_path / "whole")
    assert repeatable(folder) == repeatable(tmp_path / "whole")


def test_a_damaged_checkpoint_is_named_and_the_one_before_used(three_of_four, tmp_path):
    folder, go_on = three_of_four
    newest = folder / "checkpoints" / "round-000003.safetensors"
    newest.write_bytes(newest.read_bytes()[:500])
    ear = Ear()
    assert go_on(ear).new_rounds == 2
    assert "round-000003.safetensors: this checkpoint cannot be read" in ear.heard[0]
    assert "going on from round 2" in ear.heard[0]
    run(setting(), tmp_path / "whole")
    assert repeatable(folder) == repeatable(tmp_path / "whole")


def test_if_no_checkpoint_can_be_read_that_is_said(three_of_four):
    folder, go_on = three_of_four
    for path in (folder / "checkpoints").iterdir():
        path.write_bytes(b"damaged")
    with pytest.raises(InputError, match=r"round-000003.safetensors.*there is no other"):
        go_on()


def test_lost_records_are_not_made_up(three_of_four):
    folder, go_on = three_of_four
    (folder / "rounds.jsonl").write_text(
        (folder / "rounds.jsonl").read_text().splitlines()[0] + "\n"
    )
    with pytest.raises(InputError, match="the last record is of round 1 and the checkpoint of"):
        go_on()


def test_the_checkpoint_of_another_run_is_refused(three_of_four):
    folder, go_on = three_of_four
    path = folder / "checkpoints" / "round-000003.safetensors"
    with safe_open(path, "pt") as file:
        about = json.loads(file.metadata()["tiercut"])
    save_file(load_file(path), path, {"tiercut": json.dumps({**about, "identity": "other"})})
    with pytest.raises(InputError, match="the checkpoint of round 3 belongs to another run"):
        go_on()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[]", "a manifest is a JSON object"),
        ('{"version": 9}', "reads version 1 of a manifest"),
        ('{"version": 1}', "scenario is missing"),
    ],
)
def test_a_manifest_of_something_else_is_refused(three_of_four, text, sentence):
    folder, go_on = three_of_four
    (folder / "manifest.json").write_text(text)
    with pytest.raises(InputError, match=sentence):
        go_on()


# -------------------------------------------------------------------------------- what goes wrong


@pytest.mark.parametrize("scheme", ["aa-hsfl-ll", "sfl"])
def test_a_training_that_diverges_stops_and_keeps_what_was_there(tmp_path, scheme):
    diverging = {"optimiser": "sgd", "rate": 1e30, "rounds": 3}
    made = setting(scheme=scheme, training=diverging, model={"name": "small"})
    with pytest.raises(InputError, match=r"diverged in round 1: .*lower rate .* is 1e\+30"):
        run(made, tmp_path / "run")
    assert lines(tmp_path / "run") == []


def test_two_runs_in_one_folder_are_refused(tmp_path):
    started, go_on = threading.Event(), threading.Event()

    class Slow(Observer):
        def on_start(self, start):
            started.set()
            go_on.wait(60)

    made = setting(training={"rounds": 1})
    first = threading.Thread(target=run, args=(made, tmp_path), kwargs={"observers": [Slow()]})
    first.start()
    started.wait(60)
    try:
        with pytest.raises(InputError, match="another tiercut is training here"):
            run(made, tmp_path, overwrite=True)
    finally:
        go_on.set()
        first.join()


def test_observers_are_told_of_the_end_even_when_one_of_them_fails(tmp_path):
    class Faulty(Observer):
        def on_round(self, record):
            raise ZeroDivisionError

    ear = Ear()
    with pytest.raises(ZeroDivisionError):
        run(setting(training={"rounds": 1}), tmp_path / "run", observers=[ear, Faulty()])
    assert ear.heard[-1] == "end"


def test_a_longer_run_that_dies_at_its_end_does_not_keep_the_shorter_ones_model(tmp_path):
    class Dies(Observer):
        def on_round(self, record):
            if record.round == 2:
                raise RuntimeError("here")

    run(setting(training={"rounds": 1}), tmp_path)
    longer = setting(training={"rounds": 2})
    with pytest.raises(RuntimeError, match="here"):
        run(longer, tmp_path, resume=True, observers=[Dies()])
    run(longer, tmp_path, resume=True)
    whole = tmp_path / "whole"
    run(longer, whole)
    found, expected = (load_file(path / "model.safetensors") for path in (tmp_path, whole))
    assert all(torch.equal(found[key], expected[key]) for key in expected)
