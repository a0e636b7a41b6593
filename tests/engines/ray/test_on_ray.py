"""The engine on a Ray cluster of two machines, which are both this one."""

import time

import pytest
import torch
from torch import nn
from typer.testing import CliRunner

from tests.engines.instances import (
    FAMILIES,
    distance,
    placement,
    settings,
    stacked,
    task,
    whole,
)
from tests.engines.ray.fatal import Fatal, Owner
from tests.engines.ray.here import sharded
from tests.engines.test_parity import OPTIMISERS
from tests.test_docs import copy_scenarios
from tiercut.cli import app
from tiercut.cluster.connect import connected
from tiercut.documents import read_json
from tiercut.engines.build import build_engine
from tiercut.engines.ray.crew import Call, Crew, ask
from tiercut.engines.ray.engine import Sharded
from tiercut.engines.ray.room import Room
from tiercut.engines.threads import Threads
from tiercut.errors import InputError, MissingError, TiercutError
from tiercut.scenario import EngineSection
from tiercut.train.journal import read_records


@pytest.fixture(scope="module", autouse=True)
def _cluster():
    from ray.cluster_utils import Cluster

    small = {"object_store_memory": 200 * 2**20, "include_dashboard": False}
    machines = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, **small})
    machines.add_node(num_cpus=2, **small)
    try:
        with connected(machines.address):
            yield
    finally:
        machines.shutdown()


@pytest.fixture(scope="module")
def crew():
    from tiercut.engines.ray.cluster import RayCluster

    return Crew(RayCluster(Room(2, 1)), 2)


def rounds(work):
    """Clients stay, and then move."""
    other = placement(work, aggregator_of=[0, 1, 1, 1, 0])
    return [whole(work, 0), whole(work, 1), whole(work, 2, other)]


def same_course(engine, work):
    """Train on Ray and in this process; the states must agree to the last bit."""
    judge = sharded(work, 2)
    for plan in rounds(work):
        assert engine.run_round(plan) == judge.run_round(plan)
    expected, found = judge.to_state(), engine.to_state()
    assert expected.keys() == found.keys()
    assert all(torch.equal(expected[key], found[key]) for key in expected)


@pytest.mark.parametrize("intervals", [(None, None), ("batch", "batch")])
def test_on_ray_it_does_what_it_does_here(crew, intervals):
    work = task("aa-hsfl-ll", "normed", intervals=intervals, optimiser=OPTIMISERS["momentum"])
    same_course(Sharded(work, settings(1), Threads, crew), work)


def test_a_worker_killed_in_an_epoch_changes_nothing(crew, tmp_path, monkeypatch):
    marker = tmp_path / "killed"
    layers = [nn.Sequential(Fatal(marker), FAMILIES["plain"]()[0]), *FAMILIES["plain"]()[1:]]
    monkeypatch.setitem(FAMILIES, "fatal", lambda: layers)
    work = task("aa-hsfl-ll", "fatal", optimiser=OPTIMISERS["momentum"])
    with pytest.warns(UserWarning, match="worker . was lost .*; a new one does again what it did"):
        same_course(Sharded(work, settings(1), Threads, crew), work)
    assert marker.exists()


def test_what_a_worker_refuses_is_refused(crew):
    work = task("hsfl-ll", "plain", intervals=("batch", None))
    where = placement(work)
    where.aggregator_layers[:] = [1, 2, 1, 2, 1]
    with pytest.raises(InputError, match="one aggregator layer"):
        Sharded(work, settings(1), Threads, crew).run_round(whole(work, 0, where))


def test_a_scenario_gets_the_cluster_that_is_there():
    work, section = task(), EngineSection(name="ray", workers=1, threads=1, precision="fp64")
    found, expected = build_engine(section, work), stacked(work)
    for engine in (found, expected):
        engine.run_round(whole(work, 0))
    assert distance(found.weights(), expected.weights()) == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"workers": 9}, "9 workers do not fit the cluster, whose machines have .* cores"),
        ({"device": "cuda:1"}, "use auto, cpu or cuda"),
        ({"precision": "tf32"}, "only CUDA devices have"),
        ({"executor": "folded"}, "threads is for the CPU"),
    ],
)
def test_what_the_cluster_cannot_do_is_refused(changes, message):
    with pytest.raises(InputError, match=message):
        build_engine(EngineSection(name="ray", **changes), task())


def test_a_bug_on_a_worker_is_shown_as_it_is(crew):
    work = task()
    Sharded(work, settings(1), Threads, crew)
    with pytest.raises(AssertionError, match="a round must have begun"):
        ask(crew.workers[:1], [Call("finish", objects=1)])


def get_until_lost(cluster, ref):
    """It takes a moment until a loss is known everywhere."""
    for _ in range(300):
        cluster.get(ref)
        time.sleep(0.1)


def test_what_the_store_lost_is_said():
    import ray

    from tiercut.engines.ray.cluster import RayCluster

    owner = ray.remote(Owner).options(num_cpus=0).remote()
    (ref,) = ray.get(owner.own.remote())
    ray.kill(owner)
    with pytest.raises(TiercutError, match=r"lost what it was to keep \(.*\); .* --resume"):
        get_until_lost(RayCluster(Room(1, 1)), ref)


def test_a_full_cluster_is_named():
    from tiercut.engines.ray.cluster import RayCluster

    with pytest.raises(MissingError, match="no room for worker 1 within 1 s"):
        Crew(RayCluster(Room(1, 64), patience=1), 1)


@pytest.fixture
def demo(tmp_path):
    copy_scenarios(tmp_path)
    return str(tmp_path / "scenarios" / "demo.toml")


def test_options_of_the_engine_need_the_engine(demo, tmp_path):
    result = CliRunner().invoke(app, ["train", demo, "--workers", "2", "-o", str(tmp_path)])
    assert isinstance(result.exception, InputError)
    assert "for --engine ray" in str(result.exception)


def test_the_verb_trains_with_it(demo, tmp_path):
    folder = tmp_path / "run"
    command = ["train", demo, "--engine", "ray", "--workers", "1", "--threads", "1"]
    result = CliRunner().invoke(app, [*command, "--rounds", "1", "-o", str(folder)])
    assert result.exit_code == 0, result.output
    assert read_json(folder / "manifest.json")["engine"] == "ray"
    (record,) = read_records(folder / "rounds.jsonl")
    assert record.samples > 0


def test_a_run_goes_on_with_it_as_if_nothing_had_changed(demo, tmp_path):
    def train(folder, rounds, *words):
        command = ["train", demo, "--threads", "1", "--rounds", rounds, "-o", str(folder)]
        result = CliRunner().invoke(app, [*command, *words])
        assert result.exit_code == 0, result.output

    train(tmp_path / "one", "2")
    train(tmp_path / "both", "1")
    train(tmp_path / "both", "2", "--resume", "--engine", "ray", "--workers", "1")
    one, both = (read_records(tmp_path / name / "rounds.jsonl") for name in ("one", "both"))
    assert [record.accuracy for record in both] == [record.accuracy for record in one]
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("one", "both")]
    assert weights[0] == weights[1]
