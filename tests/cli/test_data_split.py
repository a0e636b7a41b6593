"""`tiercut data split`: files for devices, dealt as training deals."""

import json

import numpy as np
import pytest

from tiercut.data.own import load_own
from tiercut.scenario import read_scenario
from tiercut.train.setting import build_setting


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """No data set of the person who runs the tests is found."""
    monkeypatch.delenv("TIERCUT_DATA", raising=False)


@pytest.fixture
def scenario(tmp_path):
    def write(clients=3, partition="dirichlet", fleet=""):
        path = tmp_path / "scenario.toml"
        path.write_text(
            f'name = "x"\nseed = 5\n[model]\nname = "small"\n'
            f"[fleet]\nclients = {clients}\nexamples = 10\n{fleet}\n"
            f'[data]\npartition = "{partition}"\n'
        )
        return path

    return write


@pytest.mark.parametrize("partition", ["iid", "dirichlet", "shards", "quantity"])
def test_devices_get_what_training_gives_their_clients(tiercut, scenario, tmp_path, partition):
    path = scenario(partition=partition)
    shown = tiercut("data", "split", path, "-o", "shards")
    assert f"digits, {partition}, seed 5" in shown.stdout
    assert "wrote 3 files into shards" in shown.stderr
    task = build_setting(read_scenario(path)).task
    for name, rows in zip(task.clients, task.shards, strict=True):
        own = load_own(
            tmp_path / "shards" / f"{name}.npz", classes=10, shape=task.model.input_shape
        )
        np.testing.assert_array_equal(own.images, task.examples.images[rows])
        np.testing.assert_array_equal(own.labels, task.examples.labels[rows])


def test_what_was_made_is_json_for_scripts(as_json, scenario, tmp_path):
    made = as_json("data", "split", scenario(), "-o", "shards", "--seed", 8)
    assert made == json.loads((tmp_path / "shards" / "split.json").read_text())
    assert (made["seed"], made["data"]) == (8, "digits")
    assert [client["name"] for client in made["clients"]] == ["client-1", "client-2", "client-3"]
    assert [client["examples"] for client in made["clients"]] == [10, 10, 10]


def test_the_seed_decides_who_gets_what(tiercut, scenario, tmp_path):
    def labels(*options):
        tiercut("data", "split", scenario(), "-o", "shards", *options)
        own = load_own(tmp_path / "shards" / "client-1.npz", classes=10, shape=(1, 8, 8))
        return own.labels.tolist()

    assert labels() == labels("--seed", 5) != labels("--seed", 6)


def test_many_clients_are_cut_short_for_people_only(tiercut, scenario, tmp_path):
    assert "and 10 more clients" in tiercut("data", "split", scenario(50), "-o", "shards").stdout
    assert len(list((tmp_path / "shards").glob("*.npz"))) == 50


def test_only_an_earlier_split_is_replaced_without_a_word(tiercut, refusal, scenario, tmp_path):
    folder = tmp_path / "shards"
    tiercut("data", "split", scenario(4), "-o", folder)
    tiercut("data", "split", scenario(2), "-o", folder)
    (folder / "notes.txt").touch()
    message = refusal("data", "split", scenario(3), "-o", folder)
    assert "holds notes.txt" in message
    assert "--overwrite" in message
    tiercut("data", "split", scenario(3), "-o", folder, "--overwrite")
    made = sorted(entry.name for entry in folder.iterdir())
    assert made == ["client-1.npz", "client-2.npz", "client-3.npz", "notes.txt", "split.json"]


def test_what_cannot_be_split_is_refused(refusal, scenario):
    assert "lower examples" in refusal("data", "split", scenario(200), "-o", "shards")
    assert "seed is -1" in refusal("data", "split", scenario(), "-o", "shards", "--seed", -1)


def test_clients_that_cannot_be_files_are_refused(refusal, scenario, fleet, edited):
    def rename(value):
        for client in value["clients"]:
            client.update(name=f"../{client['name']}", examples=3)

    bad = edited(fleet, rename)
    message = refusal("data", "split", scenario(fleet=f'file = "{bad}"'), "-o", "shards")
    assert "'../client-1' cannot give a file its name" in message
