"""Trackers, each with its real package where that is installed."""

import pytest

from tests.train.instances import lines, setting
from tiercut.errors import InputError, MissingError
from tiercut.train.loop import run
from tiercut.train.observer import Observer
from tiercut.train.trackers import TRACKERS, find_tracker, registry
from tiercut.train.trackers.guard import Guarded
from tiercut.train.trackers.mlflow import Mlflow
from tiercut.train.trackers.wandb import Wandb


def train_in_two_parts(folder, name):
    """Two rounds and, resumed, a third."""
    warnings = []
    for rounds in (2, 3):
        tracker = find_tracker(name, warnings.append)
        run(setting(training={"rounds": rounds}), folder, resume=True, observers=[tracker])
    assert warnings == []


@pytest.mark.filterwarnings("ignore")
def test_tensorboard_has_every_round(tmp_path):
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    train_in_two_parts(tmp_path / "run", "tensorboard")
    found = EventAccumulator(str(tmp_path / "run" / "tensorboard"))
    found.Reload()
    written = lines(tmp_path / "run")
    for field in ("accuracy", "seconds", "local_loss", "replanned"):
        scalars = found.Scalars(field)
        assert [event.step for event in scalars] == [1, 2, 3]
        assert [event.value for event in scalars] == pytest.approx(
            [float(r[field]) for r in written]
        )
    assert "cut_layers" not in found.Tags()["scalars"]


@pytest.mark.filterwarnings("ignore")
def test_mlflow_has_every_round_in_one_run(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    train_in_two_parts(tmp_path / "run", "mlflow")
    client = mlflow.MlflowClient()
    experiment = client.get_experiment_by_name("tiercut")
    (found,) = client.search_runs([experiment.experiment_id])
    history = client.get_metric_history(found.info.run_id, "accuracy")
    assert {m.step: m.value for m in history} == {
        line["round"]: line["accuracy"] for line in lines(tmp_path / "run")
    }
    assert found.data.params["training.rate"] == "0.001"
    assert found.data.params["scheme"] == "aa-hsfl-ll"


@pytest.mark.filterwarnings("ignore")
def test_wandb_writes_its_files_into_the_run(tmp_path, monkeypatch):
    pytest.importorskip("wandb", reason="wandb is not installed")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    train_in_two_parts(tmp_path / "run", "wandb")
    written = list((tmp_path / "run" / "wandb").glob("offline-run-*/*.wandb"))
    assert len(written) == 2
    assert len({path.name for path in written}) == 1, "a resumed run is the same one"


class Package:
    """Stands in for a package: remembers what it was called with, and returns itself."""

    def __init__(self, found=()):
        self.calls = []
        self.info = self
        self.experiment_id = self.run_id = "7"
        self._found = found

    def __getattr__(self, name):
        def call(*words, **options):
            self.calls.append((name, words, options))
            return self._found if name == "search_runs" else self

        return call


@pytest.mark.parametrize("found", [[], [Package()]])
def test_mlflow_is_told_the_scenario_once_and_every_round(tmp_path, found):
    package = Package(found)
    run(setting(training={"rounds": 2}), tmp_path / "run", observers=[Mlflow(package)])
    start = ["set_experiment", "MlflowClient", "search_runs", "start_run"]
    logged = [] if found else ["log_params"]
    called = [name for name, _, _ in package.calls]
    assert called == [*start, *logged, "log_metrics", "log_metrics", "end_run"]
    told = [call for call in package.calls if call[0] == "log_metrics"]
    for line, (_, (metrics,), options) in zip(lines(tmp_path / "run"), told, strict=True):
        assert (metrics["accuracy"], options["step"]) == (line["accuracy"], line["round"])


def test_wandb_is_told_the_manifest_and_every_round(tmp_path):
    package = Package()
    run(setting(training={"rounds": 2}), tmp_path / "run", observers=[Wandb(package)])
    assert [name for name, _, _ in package.calls] == ["init", "log", "log", "finish"]
    options = package.calls[0][2]
    assert options["id"] == options["config"]["id"]
    assert (options["resume"], options["dir"]) == ("allow", str(tmp_path / "run"))
    assert [options["step"] for name, _, options in package.calls if name == "log"] == [1, 2]


def test_a_tracker_that_is_not_installed_names_its_extra(monkeypatch):
    monkeypatch.setitem(registry._OBSERVERS, "wandb", ("no_such_package", Observer))
    with pytest.raises(MissingError, match=r"pip install 'tiercut\[wandb\]'"):
        find_tracker("wandb", print)


def test_an_unknown_tracker_is_refused():
    assert TRACKERS == ("tensorboard", "mlflow", "wandb")
    with pytest.raises(InputError, match="did you mean 'mlflow'"):
        find_tracker("mlfow", print)


class Broken(Observer):
    """A service that is down from some moment on."""

    def __init__(self, since):
        self._since, self.told = since, 0

    def _down(self, what):
        self.told += 1
        if what == self._since:
            raise ConnectionError("no network")

    def on_start(self, start):
        self._down("start")

    def on_round(self, record):
        self._down("round")

    def on_end(self):
        self._down("end")


@pytest.mark.parametrize(("since", "told"), [("round", 2), ("end", 4), ("never", 4)])
def test_a_tracker_that_fails_on_the_way_does_not_stop_the_training(tmp_path, since, told):
    said, broken = [], Broken(since)
    guarded = Guarded("wandb", broken, said.append)
    run(setting(training={"rounds": 2}), tmp_path / "run", observers=[guarded])
    assert len(lines(tmp_path / "run")) == 2
    assert broken.told == told
    assert len(said) == (since != "never")
    assert all("wandb failed and is told nothing more: no network" in text for text in said)


def test_a_tracker_that_cannot_start_is_refused(tmp_path):
    broken = Broken("start")
    guarded = Guarded("mlflow", broken, print)
    with pytest.raises(InputError, match="mlflow cannot be started: no network"):
        run(setting(), tmp_path / "run", observers=[guarded])
    assert broken.told == 1
