"""Every client's examples in a file of its own, which reads back as they were."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.data.instances import pixels
from tiercut.data.dataset import Split, make_dataset
from tiercut.data.handout import hand_out, refuse_other_things
from tiercut.data.own import load_own
from tiercut.errors import InputError

PARTS = {"a": np.array([4, 1]), "b.c": np.array([0, 5, 2])}
HOW = {"partition": "iid", "seed": 7}


def dataset(images, classes=3):
    split = Split(images, np.arange(len(images)) % classes)
    return make_dataset("mine", tuple(map(str, range(classes))), split, split)


DATA = dataset(pixels(6, 1, 4, 5))


def files(folder):
    return sorted(entry.name for entry in folder.iterdir())


@settings(max_examples=25, deadline=None)
@given(
    shape=st.tuples(*[st.integers(1, 4)] * 3),
    floats=st.booleans(),
    order=st.permutations(range(9)),
    cut=st.integers(1, 8),
)
def test_devices_read_exactly_what_was_dealt(tmp_path_factory, shape, floats, order, cut):
    folder = tmp_path_factory.mktemp("shards")
    images = pixels(9, *shape)
    data = dataset(images.astype(np.float32) if floats else images)
    rows = np.array(order)
    hand_out(data, {"first": rows[:cut], "second": rows[cut:]}, folder, **HOW)
    for name, part in (("first", rows[:cut]), ("second", rows[cut:])):
        own = load_own(folder / f"{name}.npz", classes=3, shape=shape)
        assert own.images.dtype == data.dtype
        np.testing.assert_array_equal(own.images, data.train.images[part])
        np.testing.assert_array_equal(own.labels, data.train.labels[part])


def test_the_list_says_who_got_how_much(tmp_path):
    steps = []
    made = hand_out(
        DATA, PARTS, tmp_path, **HOW, progress=lambda done, total: steps.append((done, total))
    )
    listed = json.loads((tmp_path / "split.json").read_text())
    assert listed == made.model_dump(mode="json")
    assert (listed["data"], listed["partition"], listed["seed"]) == ("mine", "iid", 7)
    assert listed["clients"] == [
        {"name": "a", "examples": 2, "classes": 1},
        {"name": "b.c", "examples": 3, "classes": 2},
    ]
    assert files(tmp_path) == ["a.npz", "b.c.npz", "split.json"]
    assert steps == [(1, 2), (2, 2)]


def test_an_earlier_handout_is_replaced_whole(tmp_path):
    folder = tmp_path / "shards"
    refuse_other_things(folder)
    hand_out(DATA, PARTS, folder, **HOW)
    (folder / ".a.npz.killed").touch()
    (folder / "a.npz").unlink()
    refuse_other_things(folder)
    hand_out(DATA, {"d": PARTS["a"]}, folder, **HOW)
    assert files(folder) == [".a.npz.killed", "d.npz", "split.json"]


@pytest.mark.parametrize("listed", [None, "[]", "{", '{"version": 2}', '{"version": 1}'])
def test_other_things_are_refused(tmp_path, listed):
    (tmp_path / "mine.npz").touch()
    if listed is not None:
        (tmp_path / "split.json").write_text(listed)
    with pytest.raises(InputError, match=r"holds mine\.npz, which no earlier split put there"):
        refuse_other_things(tmp_path)
    hand_out(DATA, PARTS, tmp_path, **HOW)
    assert files(tmp_path) == ["a.npz", "b.c.npz", "mine.npz", "split.json"]
    with pytest.raises(InputError, match=r"holds mine\.npz"):
        refuse_other_things(tmp_path)


def test_a_list_cannot_have_files_elsewhere_removed(tmp_path):
    folder = tmp_path / "shards"
    hand_out(DATA, PARTS, folder, **HOW)
    (tmp_path / "mine.npz").touch()
    listed = json.loads((folder / "split.json").read_text())
    listed["clients"][0]["name"] = "../mine"
    (folder / "split.json").write_text(json.dumps(listed))
    hand_out(DATA, {"d": PARTS["a"]}, folder, **HOW)
    assert (tmp_path / "mine.npz").exists()
    assert files(folder) == ["a.npz", "d.npz", "split.json"]


@pytest.mark.parametrize("name", ["../a", "a/b", "/a", ".a", "..", "a\0b"])
def test_names_that_are_no_file_names_are_refused_before_anything_is_written(tmp_path, name):
    with pytest.raises(InputError, match="cannot give a file its name"):
        hand_out(DATA, {"a": PARTS["a"], name: PARTS["b.c"]}, tmp_path / "shards", **HOW)
    assert files(tmp_path) == []


def test_folders_in_the_way_are_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="file: cannot be read: Not a directory"):
        refuse_other_things(tmp_path / "file")
    folder = tmp_path / "shards"
    hand_out(DATA, PARTS, folder, **HOW)
    (folder / "a.npz").unlink()
    (folder / "a.npz").mkdir()
    with pytest.raises(InputError, match=r"a\.npz: cannot be written: Is a directory"):
        hand_out(DATA, PARTS, folder, **HOW)
    with pytest.raises(InputError, match=r"a\.npz: cannot be removed: Is a directory"):
        hand_out(DATA, {"d": PARTS["a"]}, folder, **HOW)
