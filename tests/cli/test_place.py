"""`--on ray`, `--at-once`: what is refused, what a person sees, and what Ctrl-C leaves behind."""

import io
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest
import torch
from rich.console import Console

from tests.cli.test_train import LONG, SCENARIO
from tiercut.cli.comparison_progress import FRAME, Board, LiveBoard, Row
from tiercut.cli.place import Place
from tiercut.compare.comparison import Job
from tiercut.errors import InputError
from tiercut.scenario import EngineSection
from tiercut.train.observer import Start


@pytest.fixture
def scenario(tmp_path):
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO)
    return path


@pytest.mark.parametrize(
    "verb", [("compare", "-o", "results"), ("tune", "-o", "results"), ("probe",)]
)
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--on rya", "--on is 'rya' (did you mean 'ray'?); expected ray"),
        ("--ray-address auto", "--ray-address is for --on ray"),
        ("--on ray --ray-address 127.0.0.1:1", "no Ray cluster can be joined at '127.0.0.1:1'"),
    ],
)
def test_a_wrong_place_is_refused_and_nothing_is_written(
    refusal, scenario, tmp_path, verb, options, sentence
):
    name, *rest = verb
    assert sentence in refusal(name, scenario, *rest, *options.split())
    assert [path.name for path in tmp_path.iterdir()] == ["scenario.toml"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--at-once 0", "--at-once is 0; expected at least 1"),
        ("--at-once 2 --on ray", "--at-once is for work without Ray; leave it or --on ray away"),
    ],
)
def test_a_wrong_number_at_once_is_refused(refusal, scenario, options, sentence):
    assert sentence in refusal("compare", scenario, "-o", "results", *options.split())


def test_choosing_cuts_again_needs_no_place(refusal):
    assert "leave --on away" in refusal("probe", "--from", "p.json", "--on", "ray")


def test_an_engine_that_is_spread_itself_is_not_spread_again(refusal, scenario):
    scenario.write_text(SCENARIO.replace("[engine]", '[engine]\nname = "net"'))
    message = refusal("compare", scenario, "-o", "results", "--on", "ray")
    assert "the scenario's engine is net" in message
    assert "use the engine stacked" in message
    message = refusal("compare", scenario, "-o", "results", "--at-once", "2")
    assert "--at-once 2 trains every run whole by one worker" in message


def test_a_worker_has_a_core_unless_it_is_given_more():
    place = Place("ray")
    adjusted = place.adjust(EngineSection(device="cpu"))
    assert (adjusted.device, adjusted.threads) == ("cpu", 1)
    assert place.adjust(EngineSection(device="cpu", threads=3)).threads == 3
    assert Place().adjust(EngineSection()) == EngineSection()


def test_those_at_work_here_share_the_cores():
    cores = os.cpu_count() or 1
    assert Place(at_once=2).adjust(EngineSection()).threads == max(1, cores // 2)
    assert Place(at_once=1000).adjust(EngineSection()).threads == 1
    assert Place(at_once=2).adjust(EngineSection(threads=7)).threads == 7


def test_ray_chooses_the_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert Place("ray").adjust(EngineSection()).device == "cuda"
    with pytest.raises(InputError, match="device is 'cuda:1', and Ray chooses the GPU"):
        Place("ray").adjust(EngineSection(device="cuda:1"))


# -------------------------------------------------------------------------------- what is shown


def test_a_lost_worker_is_shown_until_another_trains():
    said, job = io.StringIO(), Job("sfl", 0, 4)
    board = Board(Console(file=said))
    board.on_jobs([job, Job("sfl", 1, 4)])
    assert [row.state for row in board.rows.values()] == ["waiting", "waiting"]
    board.on_lost(job, "its worker was lost; it is begun again")
    assert board.rows[job].state == "retried"
    board.watch(job).on_start(Start(Path(), 2, 4, 1, {}, ()))
    assert board.rows[job].state == "training"
    assert said.getvalue().splitlines() == [
        "sfl, seed 0: its worker was lost; it is begun again",
        "sfl, seed 0: going on after round 2",
    ]


def test_what_is_left_is_shared_by_those_at_work():
    jobs = [Job("sfl", seed, 4) for seed in range(4)]
    board = Board(Console(file=io.StringIO()))
    board.on_jobs(jobs)
    assert board.seconds_left() is None
    board.change(jobs[0], state="training", done=1, round_seconds=1.0)
    assert board.seconds_left() == 3 + 4 + 4 + 4
    board.change(jobs[1], state="training", done=1, round_seconds=1.0)
    assert board.seconds_left() == (3 + 3 + 4 + 4) / 2
    for job in jobs[1:]:
        board.change(job, state="finished", done=4)
    assert board.seconds_left() == 3


def test_where_there_is_no_room_for_all_runs_those_at_work_are_shown():
    console = Console(file=io.StringIO(), height=FRAME + 4, width=100)
    board, jobs = LiveBoard(console), [Job("sfl", 70 + n, 4, "rate-0.1") for n in range(9)]
    board.rows = {job: Row(job) for job in jobs}
    for job in jobs[:6]:
        board.change(job, state="finished", done=4, accuracy=0.5)
    board.change(jobs[7], state="training", done=1, accuracy=0.2, round_seconds=1.0)
    console.print(board)
    shown = console.file.getvalue()
    assert [f" {70 + n} " in shown for n in range(9)] == [True, *[False] * 5, True, True, True]
    assert "rate-0.1" in shown
    assert "1 training, 2 waiting, 6 finished" in shown
    assert len(shown.splitlines()) < console.height


# -------------------------------------------------------------------------------------- stopping


def begun_by(mark):
    """The processes that have a mark in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark.encode() in path.read_bytes():
                found.append(path.parent.name)
        except OSError:
            continue
    return found


@pytest.mark.parametrize("place", ["--on ray", "--at-once 2"])
def test_ctrl_c_leaves_no_worker_behind_and_loses_nothing(tiercut, tmp_path, place):
    (tmp_path / "scenario.toml").write_text(LONG)
    words = ("compare", "scenario.toml", "--schemes", "sfl", "--seeds", "1")
    mark = uuid.uuid4().hex
    running = subprocess.Popen(
        [sys.executable, "-m", "tiercut", *words, "-o", "results", *place.split()],
        cwd=tmp_path,
        env={**os.environ, "TIERCUT_TEST": mark, "RAY_worker_niceness": "0"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    journal = tmp_path / "results" / "sfl" / "seed-0" / "rounds.jsonl"
    while not journal.exists() or not journal.read_bytes().count(b"\n"):
        assert running.poll() is None, running.communicate()
        time.sleep(0.01)
    assert len(begun_by(mark)) > 1
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does, to all of them
    shown, said = running.communicate(timeout=120)
    assert (running.returncode, shown) == (130, ""), said
    assert f"{place}` goes on where it was; what is done is kept" in said
    while begun_by(mark):
        time.sleep(0.01)
    rounds = journal.read_bytes().count(b"\n") + 1
    for folder in ("results", "whole"):
        tiercut(*words, "-o", folder, "--rounds", rounds)
    one, other = (tmp_path / folder / "summary.json" for folder in ("results", "whole"))
    assert one.read_bytes() == other.read_bytes()
