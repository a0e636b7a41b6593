"""Work on a local Ray: spread, killed, begun again, and the same as if it was done here."""

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.cli.test_train import SCENARIO
from tests.cluster.notes import Notes, do, is_alive, kill
from tests.cluster.pieces import TOOLS, Once, multiply, stumble, wait, wait_once
from tests.compare.instances import carry_out, comparison
from tests.probe.instances import CPU, tiny
from tests.train.instances import repeatable
from tiercut.cli import app
from tiercut.cluster.connect import connected
from tiercut.cluster.spread import ATTEMPTS, Spread
from tiercut.compare.watcher import Watcher
from tiercut.documents import read_json
from tiercut.errors import InputError, TiercutError
from tiercut.measure.results import run_path
from tiercut.probe.run import run_probe
from tiercut.train.observer import Observer

ONE_CORE = 1
ENOUGH = 8
"""Rounds that take longer than it takes to hear of the first."""


@pytest.fixture(scope="module", autouse=True)
def on_ray():
    """A Ray of this module's own; its workers wait for nobody else who is at work here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_worker_niceness", "0")
        with connected():
            yield


@pytest.fixture
def workers():
    return Spread(ONE_CORE)


# ------------------------------------------------------------------------------- pieces of work


def test_every_piece_is_done_where_the_command_was_given(workers, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notes = Notes()
    ends = do(workers, multiply, TOOLS, range(6), notes)
    assert {ended.item: ended.result() for ended in ends} == {n: 3 * n for n in range(6)}
    assert notes.said == {n: [("in", str(tmp_path)), ("begun", n)] for n in range(6)}
    assert notes.lost == []


def test_a_problem_is_not_tried_again_and_does_not_keep_the_others_back(workers):
    notes = Notes()
    ends = {ended.item: ended for ended in do(workers, stumble, None, [1, 0, 3], notes)}
    assert (ends[0].result(), ends[3].result()) == (0.5, -1.0)
    assert isinstance(ends[1].problem, InputError)
    assert notes.said == {0: [0], 1: [1], 3: [3]}


def test_a_bug_comes_out_as_it_is(workers):
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        list(do(workers, stumble, None, [2], Notes()))


def test_what_lost_its_worker_is_begun_again(workers, tmp_path):
    def kill_first(item, process):
        if len(notes.said[item]) == 1:
            kill(item, process)

    notes = Notes(kill_first)
    ends = do(workers, wait_once, Once(tmp_path), ["a", "b"], notes)
    assert sorted(ended.result() for ended in ends) == ["a", "b"]
    assert sorted(notes.lost) == [(n, "its worker was lost; it is begun again") for n in "ab"]
    assert all(len(set(processes)) == 2 for processes in notes.said.values())


def test_what_loses_every_worker_is_given_up_and_the_others_are_done(workers):
    notes = Notes(lambda item, process: kill(item, process) if item else None)
    ends = {ended.item: ended for ended in do(workers, wait, None, [1, 0], notes)}
    assert ends[0].result() == 0
    assert type(ends[1].problem) is TiercutError
    assert str(ends[1].problem).startswith(f"its worker was lost, {ATTEMPTS} times; where memory")
    assert [item for item, _ in notes.lost] == [1] * (ATTEMPTS - 1)


def test_whoever_stops_listening_leaves_nobody_at_work(workers):
    class Enough(Exception):
        """What a listener raises, as Ctrl-C would."""

    def stop(*_):
        raise Enough

    notes = Notes(stop)
    with pytest.raises(Enough):
        list(do(workers, wait, None, [1, 2, 3], notes))
    ((process,),) = notes.said.values()
    while is_alive(process):
        time.sleep(0.01)


def test_a_cluster_is_joined_by_its_address_and_left_as_it_is(workers):
    import ray

    address = ray.get_runtime_context().gcs_address
    joined = subprocess.run(
        [sys.executable, "-m", "tests.cluster.pieces", address],
        capture_output=True,
        text=True,
        check=True,
    )
    assert (joined.stdout, joined.stderr) == ("[0, 3, 6]\n", "")
    assert workers.at_once == os.cpu_count()


def test_what_no_machine_has_is_refused_and_not_waited_for(workers):
    assert workers.at_once == os.cpu_count()
    assert workers.memory > 10**8
    with pytest.raises(InputError, match=r"takes 999 cores, and no machine .* fewer --threads"):
        Spread(999)
    with pytest.raises(InputError, match="takes 1 cores and 1 GPU"):
        Spread(1, gpus=1)


# ------------------------------------------------------------------------------------------ runs


class Killer(Watcher):
    """Kills the worker of one scheme's run after its first round, and takes notes."""

    def __init__(self, folder, scheme):
        self.folder, self.scheme = folder, scheme
        self.heard, self.lost = [], []

    def watch(self, job):
        return Rounds(self, job)

    def on_round(self, job, number):
        if (job.scheme, number) == (self.scheme, 1):
            process = owner(run_path(self.folder, job.scheme, job.seed) / "rounds.jsonl")
            os.kill(process, signal.SIGKILL)

    def on_lost(self, job, message):
        self.lost.append((job.scheme, message))

    def on_finished(self, job, accuracy):
        self.heard.append((job.scheme, "finished"))

    def on_failed(self, job, message):
        self.heard.append((job.scheme, "failed"))


class Rounds(Observer):
    """Tells the killer of every round."""

    def __init__(self, killer, job):
        self.killer, self.job = killer, job

    def on_round(self, record):
        self.killer.on_round(self.job, record.round)


def owner(path):
    """The process that has a file open."""
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        with suppress(OSError):
            if link.readlink() == path:
                return int(link.parts[2])
    raise AssertionError(f"nobody has {path} open")


def test_a_comparison_is_what_it_is_here_though_a_worker_is_killed(workers, tmp_path):
    own = {"sfl": {"training.rate": 1e30, "training.optimiser": "sgd"}}
    made = comparison(("sfl", "locsfl", "aa-hsfl-ll"), (0,), rounds=ENOUGH, overrides=own)
    killer = Killer(tmp_path / "ray", "locsfl")
    there = carry_out(made, tmp_path / "ray", watcher=killer, workers=workers)
    here = carry_out(made, tmp_path / "here")
    assert there == here
    one, other = (tmp_path / name / "summary.json" for name in ("ray", "here"))
    assert one.read_bytes() == other.read_bytes()
    assert sorted(killer.heard) == [
        ("aa-hsfl-ll", "finished"),
        ("locsfl", "finished"),
        ("sfl", "failed"),
    ]
    assert there.failures[0].startswith("sfl, seed 0: training diverged in round 1")
    assert killer.lost == [("locsfl", "its worker was lost; it is begun again")]
    for scheme in ("locsfl", "aa-hsfl-ll"):
        one, other = (run_path(tmp_path / name, scheme, 0) for name in ("ray", "here"))
        assert repeatable(one) == repeatable(other)
        name = "model.safetensors"
        assert (one / name).read_bytes() == (other / name).read_bytes()
    (part,) = read_json(run_path(tmp_path / "ray", "locsfl", 0) / "manifest.json")["resumed"]
    assert 1 <= part["after_round"] < ENOUGH


def test_the_command_line_says_where_and_shows_every_run(workers, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(SCENARIO)
    words = ["compare", "s.toml", "--schemes", "sfl,locsfl", "--seeds", "1", "--rounds", "2", "-o"]
    there, here = (
        CliRunner().invoke(app, [*words, name, *more])
        for name, more in (("ray", ["--on", "ray"]), ("here", ["--threads", "1"]))
    )
    assert there.stdout == here.stdout.replace("is in here", "is in ray")
    assert sorted(re.findall("^.*: round ./.", there.stderr, flags=re.MULTILINE)) == [
        f"{scheme}, seed 0: round {n}/2" for scheme in ("locsfl", "sfl") for n in (1, 2)
    ]
    one, other = (tmp_path / name / "summary.json" for name in ("ray", "here"))
    assert one.read_bytes() == other.read_bytes()
    assert read_json(tmp_path / "ray" / "manifest.json")["scenario"]["engine"]["threads"] == 1


# ------------------------------------------------------------------------------------------ cuts


def test_a_probe_is_what_it_is_here(workers):
    trial, told, kept = tiny("plain"), [], []
    cuts, engine = [1, 2, 3, 4], CPU.model_copy(update={"threads": ONE_CORE})
    options = {"progress": lambda *words: told.append(words), "keep": kept.append}
    there = run_probe(trial, cuts, engine, 1.0, workers=workers, **options)
    assert there == run_probe(trial, cuts, engine, 1.0)
    assert [done for done, _, _ in told][-1] == told[-1][1] == 4
    assert kept[-1] == there
    assert sorted((*kept[0].cuts, *kept[0].missing)) == cuts


def test_a_probe_on_the_command_line_too(workers, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(SCENARIO)
    words = ["probe", "s.toml", "--cuts", "3,4", "--clients", "2", "--epochs", "1", "--json"]
    there, here = (CliRunner().invoke(app, [*words, *more]) for more in (["--on", "ray"], []))
    assert there.exit_code == 0, there.exception
    assert there.stdout == here.stdout
