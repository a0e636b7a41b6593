"""Image folders: read in order, decoded once, and read anew as soon as anything changes."""

import os

import numpy as np
import pytest
from PIL import Image

from tests.data.instances import write_images
from tiercut.data import load
from tiercut.data.cache import cached_file
from tiercut.errors import InputError
from tiercut.scenario import DataSection

CLASSES = ("cat", "dog")


def read(root, **options):
    steps = []
    data = load(
        DataSection(name=str(root), **options),
        progress=lambda done, total: steps.append((done, total)),
    )
    return data, steps


def channels_first(images):
    return np.stack(images).transpose(0, 3, 1, 2)


@pytest.fixture
def root(tmp_path):
    """Ten images to train on and six to test on, 6 wide and 4 high."""
    root = tmp_path / "pets"
    write_images(root / "train", CLASSES)
    write_images(root / "test", CLASSES, count=3)
    return root


def test_parts_of_their_own_are_read_in_order(tmp_path):
    root = tmp_path / "pets"
    made = {part: write_images(root / part, CLASSES, 3) for part in ("train", "test", "valid")}
    data, steps = read(root)
    assert (data.name, data.classes, data.shape) == ("pets", CLASSES, (3, 4, 6))
    assert steps[-1] == (18, 18)
    for part, split in data.parts.items():
        np.testing.assert_array_equal(split.images, channels_first(made[part]))
        assert split.labels.tolist() == [0, 0, 0, 1, 1, 1]


def test_cinic_is_such_a_folder_with_known_statistics(tmp_path):
    for part in ("train", "test", "valid"):
        write_images(tmp_path / "cinic-10" / part, CLASSES)
    data = load(DataSection(name="cinic10"), tmp_path)
    assert (data.name, data.mean[0], data.std[0]) == ("cinic10", 0.4789, 0.2421)
    assert data.valid is not None


def test_class_folders_alone_hold_out_a_fifth(tmp_path):
    root = tmp_path / "pets"
    made = channels_first(write_images(root, CLASSES, 10))
    data, _ = read(root)
    assert (len(data.train), len(data.test)) == (16, 4)
    assert np.bincount(data.test.labels).tolist() == [2, 2]
    both = {image.tobytes() for split in data.parts.values() for image in split.images}
    assert both == {image.tobytes() for image in made}
    again, _ = read(root)
    np.testing.assert_array_equal(again.test.images, data.test.images)


def test_a_folder_may_lie_in_the_data_folder(tmp_path):
    write_images(tmp_path / "sets" / "pets", CLASSES)
    assert load(DataSection(name="pets", dir=tmp_path / "sets")).name == "pets"


def test_grey_images_have_one_channel_unless_one_is_coloured(tmp_path):
    root = tmp_path / "grey"
    made = write_images(root / "train", CLASSES, mode="L")
    write_images(root / "test", CLASSES, mode="L")
    data, _ = read(root)
    np.testing.assert_array_equal(data.train.images[:, 0], np.stack(made))
    Image.new("RGB", (6, 4), (1, 2, 3)).save(root / "test" / "dog" / "000.png")
    assert read(root)[0].shape == (3, 4, 6)


# ------------------------------------------------------------------------------------ the cache


def test_images_are_decoded_once(root):
    first, steps = read(root)
    again, none = read(root)
    assert steps
    assert none == []
    np.testing.assert_array_equal(first.train.images, again.train.images)
    assert cached_file(root).is_file()


def touch(root):
    os.utime(root / "train" / "cat" / "000.png", ns=(1, 1))


def add(root):
    Image.new("RGB", (6, 4)).save(root / "test" / "dog" / "new.png")


def remove(root):
    (root / "train" / "cat" / "001.png").unlink()


@pytest.mark.parametrize("change", [touch, add, remove])
def test_a_changed_folder_is_read_anew(root, change):
    read(root)
    change(root)
    assert read(root)[1] != []
    assert read(root)[1] == []


@pytest.mark.parametrize("damage", [b"", b"not a cache", None])
def test_a_damaged_cache_is_read_anew(root, damage):
    read(root)
    kept = cached_file(root)
    kept.write_bytes(kept.read_bytes()[:-200] if damage is None else damage)
    assert read(root)[1] != []
    assert read(root)[1] == []


def test_a_cache_that_cannot_be_written_is_done_without(root, tmp_path):
    (tmp_path / "cache").touch()
    assert len(read(root)[0].train) == 10
    assert read(root)[1] != []


def test_the_cache_is_in_the_home_folder_by_default(root, monkeypatch, tmp_path):
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cached_file(root).parent == tmp_path / "home" / ".cache" / "tiercut"


# ----------------------------------------------------------------------------------- what is wrong


def other_size(root):
    Image.new("RGB", (5, 4)).save(root / "train" / "dog" / "bad.png")


def sixteen_bits(root):
    Image.fromarray(np.zeros((4, 6), np.uint16)).save(root / "train" / "dog" / "bad.png")


def empty(root):
    (root / "train" / "dog" / "bad.png").touch()


def text(root):
    (root / "train" / "dog" / "bad.png").write_text("not an image")


def cut_short(root):
    whole = root / "train" / "dog" / "000.png"
    (root / "train" / "dog" / "bad.png").write_bytes(whole.read_bytes()[:60])


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (other_size, "has 5x4 pixels; expected 6x4"),
        (sixteen_bits, "expected 8 bits a channel"),
        (empty, "no whole image"),
        (text, "no whole image"),
        (cut_short, "no whole image"),
    ],
)
def test_a_wrong_image_is_named(root, spoil, sentence):
    spoil(root)
    with pytest.raises(InputError, match=f"dog/bad.png: .*{sentence}"):
        read(root)


def test_a_first_image_that_is_none_is_named(root):
    (root / "train" / "cat" / "000.png").write_text("not an image")
    with pytest.raises(InputError, match=r"cat/000.png: this is no whole image"):
        read(root)


def test_images_that_no_machine_can_hold_are_refused(tmp_path):
    for name in CLASSES:
        (tmp_path / "big" / name).mkdir(parents=True)
        Image.new("1", (9000, 9000)).save(tmp_path / "big" / name / "0.png")
    for i in range(300):
        os.link(tmp_path / "big" / "cat" / "0.png", tmp_path / "big" / "cat" / f"{i}x.png")
    with pytest.raises(InputError, match="make them smaller"):
        read(tmp_path / "big")


def test_folders_that_are_no_data_set_are_named(tmp_path):
    root = tmp_path / "pets"
    (root / "cat").mkdir(parents=True)
    with pytest.raises(InputError, match="there are 1 class folders"):
        read(root)
    (root / "dog").mkdir()
    (root / "cat" / "notes.txt").touch()
    with pytest.raises(InputError, match="cat: there is no image"):
        read(root)


def test_parts_have_the_same_classes(root):
    (root / "test" / "dog").rename(root / "test" / "fox")
    with pytest.raises(InputError, match="'dog' is in only one of train/ and test/"):
        read(root)


def test_hidden_files_are_left_alone(root):
    (root / "train" / ".DS_Store").touch()
    (root / "train" / "cat" / "._000.png").touch()
    assert len(read(root)[0].train) == 10
