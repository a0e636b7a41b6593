"""Work on a local Ray: spread, killed, begun again, and the same as if it was done here."""

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.cli.test_train import SCENARIO
from tests.cluster.contract import Contract
from tests.compare.instances import carry_out, comparison
from tests.probe.instances import CPU, tiny
from tests.train.instances import repeatable
from tiercut.cli import app
from tiercut.cluster.connect import connected
from tiercut.cluster.spread import ATTEMPTS, Spread
from tiercut.compare.watcher import Watcher
from tiercut.documents import read_json
from tiercut.errors import InputError
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


class TestOnRay(Contract):
    lost = "its worker was lost"
    attempts = ATTEMPTS


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

    def on_finished(self, job, last):
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
