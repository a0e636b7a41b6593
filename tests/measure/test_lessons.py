"""Which runs can be learned from, and what they say."""

import json

import pytest

from tests.train.instances import BASE
from tiercut.documents import check
from tiercut.errors import InputError
from tiercut.measure.lessons import read_lessons
from tiercut.scenario import Scenario

LIKE = check(Scenario, BASE, "the test")
CLIENTS = 5


def write(folder, scheme="aa-hsfl-ll", curve=(0.1, 0.5), changes=(), decided=(), after=()):
    """A run; `changes` are to its scenario, `decided` to its rounds, `after` to the last one."""
    scenario = json.loads(LIKE.model_dump_json())
    for section, key, value in changes:
        scenario[section][key] = value
    folder.mkdir(parents=True)
    manifest = {"version": 1, "scheme": scheme, "scenario": scenario, "id": "x"}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    decision = {"aggregator_layer": 2, "cut_layer": 4, "aggregators": 2, "clients": CLIENTS}
    decision |= dict(decided)
    rounds = [
        {"round": n, "accuracy": a, "seconds": 1.0, "bytes": 1.0, **decision}
        for n, a in enumerate(curve, start=1)
    ]
    if rounds:
        rounds[-1] |= dict(after)
    (folder / "rounds.jsonl").write_text("".join(json.dumps(line) + "\n" for line in rounds))


TWO_TIERS = {"aggregator_layer": None, "aggregators": None}


def learn(*folders):
    return read_lessons(folders, LIKE, CLIENTS)


def test_a_run_says_what_was_decided_and_what_it_reached(tmp_path):
    write(tmp_path / "run")
    (lesson,) = learn(tmp_path / "run").runs
    assert (lesson.h, lesson.v, lesson.aggregators) == (2, 4, 2)
    assert lesson.curve == (0.1, 0.5)
    assert learn(tmp_path).omissions == ""


def test_on_two_tiers_everybody_serves_itself(tmp_path):
    write(tmp_path / "run", "locsfl", decided=TWO_TIERS)
    (lesson,) = learn(tmp_path).runs
    assert (lesson.h, lesson.v, lesson.aggregators) == (4, 4, CLIENTS)


def test_intervals_are_the_scenarios_or_else_the_schemes(tmp_path):
    write(tmp_path / "a" / "own")
    write(tmp_path / "b" / "given", changes=[("training", "server_interval", "batch")])
    own, given = learn(tmp_path / "a", tmp_path / "b").runs
    assert own.intervals == ("epoch", "epoch")
    assert given.intervals == ("epoch", "batch")


def test_what_trained_otherwise_is_left_out_and_counted(tmp_path):
    write(tmp_path / "kept")
    write(tmp_path / "sfl", "sfl")
    write(tmp_path / "dtfl", "dtfl")
    write(tmp_path / "own", "my-scheme")
    write(tmp_path / "rate", changes=[("training", "rate", 0.5)])
    write(tmp_path / "rate-2", changes=[("training", "rate", 0.6)])
    write(tmp_path / "clients", decided={"clients": 9})
    write(tmp_path / "events", after={"aggregators": 3})
    write(tmp_path / "new", curve=())
    lessons = learn(tmp_path)
    assert len(lessons.runs) == 1
    assert lessons.left_out == {
        "with another number of clients": 1,
        "of dtfl": 1,
        "with changing plans": 1,
        "without a round": 1,
        "of my-scheme": 1,
        "with another training.rate": 2,
        "of sfl": 1,
    }
    assert "2 with another training.rate" in lessons.omissions


def test_other_rounds_and_other_machines_do_not_matter(tmp_path):
    changes = [("training", "rounds", 99), ("engine", "threads", 3), ("plan", "cuts", [3])]
    write(tmp_path / "run", changes=changes)
    assert len(learn(tmp_path).runs) == 1


def test_a_folder_without_runs_is_refused(tmp_path):
    with pytest.raises(InputError, match="there is no run here"):
        learn(tmp_path)


def test_runs_that_all_differ_are_refused(tmp_path):
    write(tmp_path / "run", changes=[("data", "partition", "dirichlet")])
    with pytest.raises(InputError, match=r"left out: 1 with another data.partition; give runs"):
        learn(tmp_path)
