"""The profile file: torch-free, lossless, and checked to the last number."""

import copy
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tiercut.documents import check, to_json, write_text
from tiercut.errors import InputError
from tiercut.models.profile import (
    SHIPPED,
    HeadCost,
    LayerCost,
    Profile,
    read_profile,
    shipped_profile,
)

relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

NAN, INF = float("nan"), float("inf")
HUGE = 10**400
"""A whole number that no float can hold; 1e999 in a file reads as infinity."""

GOOD = {
    "version": 1,
    "name": "tiny",
    "parameters": 30,
    "layers": [
        {
            "index": index,
            "name": f"layer{index}",
            "flops": 100 * index,
            "weight_bytes": 40 * index,
            "activation_bytes": 8.5,
            "parameters": 10 * index,
        }
        for index in (1, 2)
    ],
    "heads": [{"flops": 1, "weight_bytes": 2}, {"flops": 3, "weight_bytes": 4}],
}


def changed(path, value):
    data = copy.deepcopy(GOOD)
    here = data
    for part in path[:-1]:
        here = here[part]
    here[path[-1]] = value
    return data


def without(path):
    data = copy.deepcopy(GOOD)
    here = data
    for part in path[:-1]:
        here = here[part]
    del here[path[-1]]
    return data


@pytest.fixture
def refusal(tmp_path):
    """The message a wrong file is refused with, which always starts with the file's path."""

    def read(data):
        path = tmp_path / "profile.json"
        path.write_text(data if isinstance(data, str) else json.dumps(data))
        with pytest.raises(InputError) as refused:
            read_profile(path)
        file, _, rest = str(refused.value).partition(": ")
        assert file == str(path)
        return rest

    return read


amounts = st.floats(0, 1e300) | st.integers(0, 10**20).map(float)
layers = st.tuples(st.text(), amounts, amounts, st.floats(5e-324, 1e300), st.integers(0, 10**12))
texts = st.text(st.characters(exclude_categories=["Cs"]))


@st.composite
def profiles(draw):
    columns = draw(st.lists(layers, min_size=2, max_size=6))
    head = st.builds(HeadCost, flops=amounts, weight_bytes=amounts)
    heads = st.lists(head, min_size=len(columns), max_size=len(columns)).map(tuple)
    return Profile(
        name=draw(texts),
        parameters=draw(st.integers(0, 10**12)),
        layers=tuple(
            LayerCost(
                index=index,
                name=name.encode("utf-8", "ignore").decode(),
                flops=flops,
                weight_bytes=weights,
                activation_bytes=activations,
                parameters=parameters,
            )
            for index, (name, flops, weights, activations, parameters) in enumerate(columns, 1)
        ),
        heads=draw(st.none() | heads),
    )


@given(profiles())
@relaxed
def test_a_profile_written_and_read_is_the_same_profile(tmp_path, profile):
    path = tmp_path / "profile.json"
    write_text(path, to_json(profile.to_dict()))
    read = read_profile(path)
    assert read == profile
    assert read.to_dict() == profile.to_dict()
    assert read.flops.tolist() == [layer.flops for layer in profile.layers]


def test_the_columns_are_the_layers_amounts_in_order():
    profile = check(Profile, GOOD, "tiny.json")
    assert profile.depth == 2
    assert profile.flops.tolist() == [100, 200]
    assert profile.weight_bytes.tolist() == [40, 80]
    assert profile.activation_bytes.tolist() == [8.5, 8.5]
    assert profile == check(Profile, GOOD, "tiny.json")


def test_whole_amounts_are_written_without_a_fraction():
    layer = check(Profile, GOOD, "tiny.json").to_dict()["layers"][0]
    assert json.dumps([layer["flops"], layer["activation_bytes"]]) == "[100, 8.5]"


def test_heads_may_be_left_out():
    profile = check(Profile, without(("heads",)), "tiny.json")
    assert profile.heads is None
    assert "heads" not in profile.to_dict()


def test_a_missing_file_is_named_with_the_nearest_one(tmp_path):
    (tmp_path / "vgg11.json").write_text("{}")
    with pytest.raises(InputError, match=r"vgg1.json: there is no such file \(did you mean"):
        read_profile(tmp_path / "vgg1.json")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "the file is empty"),
        ("profile", "this is not JSON: "),
        ("[]", "a profile is a JSON object; found []"),
        ("null", "a profile is a JSON object; found null"),
        ("3", "a profile is a JSON object; found 3"),
        ("{}", "version is null; this tiercut reads version 1 of a profile"),
    ],
)
def test_a_file_that_is_no_profile_is_refused(refusal, content, expected):
    assert refusal(content).startswith(expected)


@pytest.mark.parametrize("version", [0, 2, "1", None, True, 1.0, NAN])
def test_another_version_is_refused(refusal, version):
    assert refusal(changed(("version",), version)).startswith("version is ")


@pytest.mark.parametrize(
    "path",
    [
        ("name",),
        ("parameters",),
        ("layers",),
        *(("layers", 1, key) for key in GOOD["layers"][0]),
        ("heads", 0, "flops"),
        ("heads", 1, "weight_bytes"),
    ],
)
def test_a_missing_key_is_named(refusal, path):
    key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    assert refusal(without(path)) == f"{key[1:]} is missing"


@pytest.mark.parametrize(
    ("path", "shown", "nearest"),
    [
        (("layer",), "layer", "layers"),
        (("layers", 0, "flop"), "layers[0].flop", "flops"),
        (("layers", 1, "Flops"), "layers[1].Flops", "flops"),
        (("heads", 1, "weigth_bytes"), "heads[1].weigth_bytes", "weight_bytes"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest_spelling(refusal, path, shown, nearest):
    found = refusal(changed(path, 1))
    assert found.startswith(f"unknown key {shown} (did you mean '{nearest}'?); expected ")


@pytest.mark.parametrize("value", [-1, NAN, INF, -INF, HUGE, "5", True, None, [5]])
@pytest.mark.parametrize(
    ("path", "key"),
    [
        (("layers", 1, "flops"), "layers[1].flops"),
        (("layers", 1, "weight_bytes"), "layers[1].weight_bytes"),
        (("layers", 1, "activation_bytes"), "layers[1].activation_bytes"),
        (("heads", 0, "flops"), "heads[0].flops"),
        (("heads", 0, "weight_bytes"), "heads[0].weight_bytes"),
    ],
)
def test_an_amount_is_a_finite_number_from_0(refusal, path, key, value):
    assert refusal(changed(path, value)).startswith(f"{key} is ")


def test_a_layer_without_work_or_weights_is_fine_but_it_passes_something_on(refusal):
    for key in ("flops", "weight_bytes"):
        check(Profile, changed(("layers", 0, key), 0), "tiny.json")
    found = refusal(changed(("layers", 0, "activation_bytes"), 0))
    assert found == "layers[0].activation_bytes is 0; expected greater than 0"


@pytest.mark.parametrize("value", [-1, 1.0, 1.5, NAN, "1", True, None])
@pytest.mark.parametrize(
    ("path", "key"),
    [(("parameters",), "parameters"), (("layers", 0, "parameters"), "layers[0].parameters")],
)
def test_a_number_of_parameters_is_a_whole_number_from_0(refusal, path, key, value):
    assert refusal(changed(path, value)).startswith(f"{key} is ")


@pytest.mark.parametrize("index", [0, 1, 3, -1, 2.0, "2", None])
def test_layers_count_upwards_from_1(refusal, index):
    assert refusal(changed(("layers", 1, "index"), index)).startswith("layers[1].index is ")


@pytest.mark.parametrize("value", [{}, [], 3, "x", None])
def test_layers_are_a_list(refusal, value):
    assert refusal(changed(("layers",), value)).startswith("layers is ")


def test_a_model_of_one_layer_cannot_be_cut(refusal):
    found = refusal({**GOOD, "layers": GOOD["layers"][:1], "heads": None})
    assert found.endswith("; expected at least 2 items, not 1")


def test_there_is_one_head_per_layer(refusal):
    assert refusal(changed(("heads",), GOOD["heads"][:1])) == (
        "heads has 1 entries; expected one per layer, 2"
    )


@pytest.mark.parametrize("value", [3, "x", None, []])
def test_a_layer_is_a_table(refusal, value):
    assert refusal(changed(("layers", 0), value)).endswith("; expected a table of keys")


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_profile_can_be_read_and_carries_its_name(name):
    profile = shipped_profile(name)
    assert profile.name == name
    assert profile.parameters == sum(layer.parameters for layer in profile.layers)
    assert len(profile.heads) == profile.depth


def test_an_unknown_shipped_profile_is_refused_with_the_nearest_name():
    with pytest.raises(InputError, match=r"no shipped profile of 'vgg' \(did you mean 'vgg1"):
        shipped_profile("vgg")
