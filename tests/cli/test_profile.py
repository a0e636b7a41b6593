import json
import sys

import pytest
import torch

from tiercut.models.profile import SHIPPED, read_profile, shipped_profile

OWN = """
from torch import nn

def make():
    return [nn.Flatten(), nn.Linear(12, 8), nn.ReLU(), nn.Linear(8, 3)]

make.input_shape = (3, 2, 2)

def shapeless():
    return make()
"""


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def own(tmp_path, monkeypatch):
    """The working directory holds my_nets.py, a module with models."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "my_nets", raising=False)
    (tmp_path / "my_nets.py").write_text(OWN)
    yield "my_nets:make"
    sys.modules.pop("my_nets", None)


def test_the_profile_has_every_promised_key(as_json):
    made = as_json("profile", "small")
    assert set(made) == {"version", "name", "parameters", "layers", "heads"}
    assert made["version"] == 1
    keys = {"index", "name", "flops", "weight_bytes", "activation_bytes", "parameters"}
    assert all(set(layer) == keys for layer in made["layers"])
    assert all(set(head) == {"flops", "weight_bytes"} for head in made["heads"])
    assert made["parameters"] == sum(layer["parameters"] for layer in made["layers"])


def test_a_traced_model_is_its_shipped_profile(as_json):
    assert as_json("profile", "small") == shipped_profile("small").to_dict()


def test_a_written_profile_can_be_read_and_planned_with(tiercut, as_json, fleet, tmp_path):
    path = tmp_path / "small.json"
    assert f"wrote {path}" in tiercut("profile", "small", "-o", path).stderr
    assert read_profile(path).name == "small"
    by_file = as_json("plan", "--fleet", fleet, "--profile", path, "--solver", "locsfl")
    by_name = as_json("plan", "--fleet", fleet, "--profile", "small", "--solver", "locsfl")
    assert by_file["seconds"] == by_name["seconds"]


def test_a_person_sees_a_table(tiercut):
    shown = tiercut("profile", "small").stdout
    assert "small: 34,522 parameters" in shown
    assert "conv1" in shown


def test_a_model_of_ones_own_comes_from_the_working_directory(as_json, own):
    made = as_json("profile", own)
    assert made["name"] == own
    assert [layer["parameters"] for layer in made["layers"]] == [0, 12 * 8 + 8, 0, 8 * 3 + 3]


def test_an_own_model_may_be_given_its_input_shape(as_json, refusal, own):
    assert "shape" in refusal("profile", "my_nets:shapeless")
    assert len(as_json("profile", "my_nets:shapeless", "--input", "3x2x2")["layers"]) == 4


def test_a_scenario_may_name_an_own_model(as_json, own, fleet, tmp_path):
    path = tmp_path / "scenario.toml"
    path.write_text(f'name = "x"\n[model]\nname = "{own}"\n[fleet]\nfile = "{fleet}"\n')
    made = as_json("plan", path)
    assert (made["aggregator_layer"], made["cut_layer"]) == (2, 3)


def test_measuring_gives_an_entry_for_a_fleet_file(tiercut, own):
    result = tiercut("profile", own, "--measure", "--batch", 2, "--name", "me", "--examples", 9)
    entry = json.loads(result.stdout)
    assert set(entry) == {"name", "throughput", "examples", "layer_throughput"}
    assert (entry["name"], entry["examples"]) == ("me", 9)
    assert entry["throughput"] > 0
    assert len(entry["layer_throughput"]) == 4


def test_measuring_updates_the_named_client_and_keeps_all_else(tiercut, own, fleet, tmp_path):
    path = tmp_path / "mine.json"
    before = json.loads(fleet.read_text())
    path.write_text(json.dumps(before))
    tiercut("profile", own, "--measure", "--batch", 2, "--fleet", path, "--name", "client-3")
    after = json.loads(path.read_text())
    measured, old = after["clients"][2], before["clients"][2]
    assert len(measured.pop("layer_throughput")) == 4
    assert measured["throughput"] != old["throughput"]
    assert {**measured, "throughput": old["throughput"]} == old
    after["clients"][2] = old
    assert after == before
    tiercut("fleet", "show", path)


def test_an_unknown_client_is_not_measured_into_a_fleet(refusal, own, fleet):
    before = fleet.read_bytes()
    words = ("--measure", "--batch", 2, "--fleet", fleet, "--name", "client-33")
    assert "did you mean 'client-3'" in refusal("profile", own, *words)
    assert fleet.read_bytes() == before


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("smal",), "did you mean 'small'"),
        (("no_such_module:make",), "cannot be imported"),
        (("my_nets:mak",), "did you mean 'make'"),
        (("my_nets:make", "--input", "3xx"), "is no input shape"),
        (("small", "--input", "3x8x8"), "not (3, 8, 8)"),
        (("my_nets:make", "--measure", "--batch", "0"), "batch is 0"),
    ],
)
def test_what_cannot_be_profiled_is_refused(refusal, own, words, sentence):
    assert sentence in refusal("profile", *words)


def test_every_shipped_model_is_offered(refusal):
    said = refusal("profile", "nothing-like-it")
    assert all(name in said for name in SHIPPED)


def test_a_fleet_without_measuring_is_refused(refusal, fleet):
    assert "--measure" in refusal("profile", "small", "--fleet", fleet)


def test_a_device_without_examples_is_refused(refusal, own):
    assert "examples" in refusal("profile", own, "--measure", "--batch", 2, "--examples", 0)
