"""The data of one device: read as it was written, or refused with the file's name."""

import io
import zipfile
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tests.data.instances import pixels, write_images
from tiercut.data.own import load_own
from tiercut.errors import InputError

IMAGES, LABELS = pixels(6, 1, 4, 5), np.arange(6) % 3
FITTING = {"classes": 3, "shape": (1, 4, 5)}
relaxed = settings(deadline=None)
PETS = ("cat", "dog")


def write(path, **changes):
    np.savez(path, **{"images": IMAGES, "labels": LABELS, **changes})
    return path


@pytest.mark.parametrize("place", ["own.npz", "."])
def test_a_file_is_read_and_so_is_the_only_one_in_a_folder(tmp_path, place):
    write(tmp_path / "own.npz")
    (tmp_path / "notes.txt").touch()
    (tmp_path / ".own.npz.part").touch()
    own = load_own(tmp_path / place, **FITTING)
    np.testing.assert_array_equal(own.images, IMAGES)
    assert own.labels.tolist() == LABELS.tolist()


@pytest.mark.parametrize("shape", [(1, 3, 1), (5, 8, 3), (3, 8, 9), (1, 8, 1)])
def test_the_expected_shape_is_never_taken_for_another_layout(tmp_path, shape):
    images = pixels(6, *shape)
    own = load_own(write(tmp_path / "own.npz", images=images), classes=3, shape=shape)
    np.testing.assert_array_equal(own.images, images)


def test_usual_layouts_are_known(tmp_path):
    grey = load_own(write(tmp_path / "own.npz", images=IMAGES[:, 0]), **FITTING)
    np.testing.assert_array_equal(grey.images, IMAGES)
    last = pixels(6, 8, 9, 3)
    own = load_own(write(tmp_path / "own.npz", images=last), classes=3, shape=(3, 8, 9))
    np.testing.assert_array_equal(own.images, last.transpose(0, 3, 1, 2))


def test_floats_stay_floats(tmp_path):
    own = load_own(write(tmp_path / "own.npz", images=IMAGES / 255), **FITTING)
    assert own.images.dtype == np.float32


def test_a_device_may_lack_classes(tmp_path):
    own = load_own(write(tmp_path / "own.npz", labels=np.full(6, 2)), **FITTING)
    assert set(own.labels.tolist()) == {2}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"images": pixels(6, 1, 5, 4)}, "the images are 1x5x4 uint8; expected 1x4x5"),
        ({"images": pixels(6, 3, 4, 5)}, "the images are 3x4x5 uint8; expected 1x4x5"),
        ({"images": IMAGES[0, 0]}, "expected samples, channels"),
        ({"images": IMAGES[:0], "labels": LABELS[:0]}, "at least one of each"),
        ({"images": IMAGES.astype(object)}, "images holds Python objects; expected numbers"),
        ({"images": IMAGES > 9}, "pixels are bool; expected whole or finite numbers"),
        ({"images": IMAGES + np.inf}, "expected whole or finite numbers"),
        ({"images": IMAGES * 1e300}, "expected whole or finite numbers"),
        ({"images": IMAGES.astype(int) - 300}, "expected whole numbers from 0 to 255, or floats"),
        ({"labels": LABELS + 1}, "label 2 is 3; expected 0 to 2, one of 3 classes"),
        ({"labels": LABELS - 1}, "labels run from -1 to 1; expected 0 upwards"),
        ({"labels": LABELS[:5]}, "one for each of 6 images"),
        ({"labels": LABELS / 1}, "labels are float64; expected whole numbers"),
        ({"labels": np.array([None] * 6)}, "labels holds Python objects"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path, changes, sentence):
    with pytest.raises(InputError, match=f"own.npz: .*{sentence}"):
        load_own(write(tmp_path / "own.npz", **changes), **FITTING)


def test_other_arrays_are_listed(tmp_path):
    np.savez(tmp_path / "own.npz", train_images=IMAGES, labels=LABELS)
    with pytest.raises(
        InputError, match="arrays are labels, train_images; expected images, labels"
    ):
        load_own(tmp_path, **FITTING)


def test_files_in_an_archive_that_are_no_arrays_are_left_alone(tmp_path):
    with zipfile.ZipFile(tmp_path / "own.npz", "w") as archive:
        archive.writestr("images", b"")
        archive.writestr("labels", b"")
    with pytest.raises(InputError, match="the arrays are none"):
        load_own(tmp_path, **FITTING)


@pytest.mark.parametrize("descr", ["|u1", "|S0", "<f8"])
@pytest.mark.parametrize("shape", [(-6, 10**18), (-1, -6), (0, 10**20), (2**64,), (6, 10**9)])
def test_shapes_that_no_array_has_are_refused_before_they_are_allocated(tmp_path, descr, shape):
    file = io.BytesIO()
    header = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    with zipfile.ZipFile(write(tmp_path / "own.npz"), "w") as archive:
        archive.writestr("images.npy", file.getvalue())
        archive.writestr("labels.npy", file.getvalue())
    with pytest.raises(InputError, match="images claims the shape"):
        load_own(tmp_path, **FITTING)


@relaxed
@given(header=st.binary(max_size=40) | st.text("{}()[]'\": ,descrshape01-", max_size=40))
def test_headers_that_say_nothing_are_refused(tmp_path_factory, header):
    path = tmp_path_factory.getbasetemp() / "headless.npz"
    raw = header.encode() if isinstance(header, str) else header
    with zipfile.ZipFile(path, "w") as archive:
        member = b"\x93NUMPY\x01\x00" + len(raw).to_bytes(2, "little") + raw
        archive.writestr("images.npy", member)
        archive.writestr("labels.npy", member)
    with pytest.raises(InputError, match=r"images\.npy has no header that is known"):
        load_own(path, **FITTING)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return write(tmp_path_factory.mktemp("whole") / "own.npz")


@relaxed
@given(data=st.data())
def test_a_damaged_file_is_refused_or_reads_as_something_that_fits(whole, data):
    contents = bytearray(whole.read_bytes())
    for _ in range(data.draw(st.integers(1, 3), label="bytes")):
        contents[data.draw(st.integers(0, len(contents) - 1))] = data.draw(st.integers(0, 255))
    path = whole.with_name("damaged.npz")
    path.write_bytes(contents[: data.draw(st.integers(0, len(contents)), label="kept")])
    with suppress(InputError):
        assert load_own(path, **FITTING).images.shape[1:] == (1, 4, 5)


def test_several_files_are_too_many(tmp_path):
    write(tmp_path / "b.npz")
    write(tmp_path / "a.npz")
    with pytest.raises(InputError, match=r"there are 2 \.npz files; .*a\.npz"):
        load_own(tmp_path, **FITTING)


def test_what_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match="nothing: there is no such file or folder"):
        load_own(tmp_path / "nothing", **FITTING)
    (tmp_path / "own.txt").write_text("no arrays")
    with pytest.raises(InputError, match=r"own\.txt: this is no whole \.npz file"):
        load_own(tmp_path / "own.txt", **FITTING)
    with pytest.raises(InputError, match="there are 0 class folders"):
        load_own(tmp_path, **FITTING)


# ---------------------------------------------------------------------------------- image folders


def test_a_folder_of_images_per_class_is_read_in_order(tmp_path):
    made = np.stack(write_images(tmp_path / "pets", PETS, 3)).transpose(0, 3, 1, 2)
    steps = []
    own = load_own(
        tmp_path / "pets",
        classes=2,
        shape=(3, 4, 6),
        progress=lambda done, total: steps.append((done, total)),
    )
    np.testing.assert_array_equal(own.images, made)
    assert own.labels.tolist() == [0, 0, 0, 1, 1, 1]
    assert steps[-1] == (6, 6)
    assert not (tmp_path / "cache").exists()


def test_grey_images_stand_in_for_coloured_ones_and_not_the_other_way(tmp_path):
    made = np.stack(write_images(tmp_path / "grey", PETS, mode="L"))
    coloured = load_own(tmp_path / "grey", classes=2, shape=(3, 4, 6))
    for channel in range(3):
        np.testing.assert_array_equal(coloured.images[:, channel], made)
    grey = load_own(tmp_path / "grey", classes=2, shape=(1, 4, 6))
    np.testing.assert_array_equal(grey.images[:, 0], made)
    Image.new("RGB", (6, 4), (1, 2, 3)).save(tmp_path / "grey" / "dog" / "red.png")
    with pytest.raises(InputError, match="grey: the images are 3x4x6 uint8; expected 1x4x6"):
        load_own(tmp_path / "grey", classes=2, shape=(1, 4, 6))


def test_a_folder_has_a_folder_for_every_class(tmp_path):
    write_images(tmp_path / "pets", PETS)
    with pytest.raises(InputError, match="2 class folders, cat to dog; expected one for each of 3"):
        load_own(tmp_path / "pets", classes=3, shape=(3, 4, 6))


def test_images_have_the_size_that_the_model_takes(tmp_path):
    write_images(tmp_path / "pets", PETS)
    with pytest.raises(InputError, match="the images are 3x4x6 uint8; expected 3x32x32"):
        load_own(tmp_path / "pets", classes=2, shape=(3, 32, 32))
