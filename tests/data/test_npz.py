"""Arrays of the user's own: either spelling, any usual layout, nothing unpickled."""

import io
import zipfile

import numpy as np
import pytest

from tests.data.instances import pixels
from tiercut.data import load
from tiercut.errors import InputError
from tiercut.scenario import DataSection

IMAGES, LABELS = pixels(6, 4, 5), np.arange(6) % 3


def arrays(images=IMAGES, labels=LABELS):
    return {
        "train_images": images,
        "train_labels": labels,
        "test_images": images[:3],
        "test_labels": labels[:3],
    }


def write(path, **changes):
    np.savez(path, **{**arrays(), **changes})
    return path


def read(path):
    return load(DataSection(name=str(path)))


def test_grey_images_get_a_channel(tmp_path):
    data = read(write(tmp_path / "mine.npz"))
    assert (data.name, data.classes, data.shape) == ("mine", ("0", "1", "2"), (1, 4, 5))
    np.testing.assert_array_equal(data.train.images[:, 0], IMAGES)
    np.testing.assert_array_equal(data.test.labels, LABELS[:3])


def test_the_names_and_layout_of_keras_are_known(tmp_path):
    images = pixels(6, 8, 9, 3)
    column = LABELS[:, None].astype(np.uint8)
    path = tmp_path / "keras.npz"
    np.savez_compressed(path, x_train=images, y_train=column, x_test=images[:2], y_test=column[:2])
    data = read(path)
    assert data.shape == (3, 8, 9)
    np.testing.assert_array_equal(data.train.images, images.transpose(0, 3, 1, 2))
    assert data.train.labels.tolist() == LABELS.tolist()


def test_channels_may_come_first(tmp_path):
    images = pixels(6, 3, 8, 9)
    np.savez(tmp_path / "first.npz", **arrays(images))
    np.testing.assert_array_equal(read(tmp_path / "first.npz").train.images, images)


def test_floats_stay_floats_and_whole_numbers_become_bytes(tmp_path):
    np.savez(tmp_path / "floats.npz", **arrays(IMAGES / 100.0))
    floats = read(tmp_path / "floats.npz")
    assert floats.dtype == np.float32
    assert floats.mean[0] == pytest.approx(IMAGES.mean() / 100, rel=1e-5)
    np.savez(tmp_path / "ints.npz", **arrays(IMAGES.astype(np.int64)))
    assert read(tmp_path / "ints.npz").dtype == np.uint8


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"train_images": IMAGES.astype(object)}, "train_images holds Python objects"),
        ({"train_images": IMAGES.astype(int) + 1000}, "expected whole numbers from 0 to 255"),
        ({"train_images": IMAGES - 256.0 * np.nan}, "expected whole or finite numbers"),
        ({"train_images": IMAGES > 3}, "pixels are bool"),
        ({"train_images": IMAGES[0]}, "expected samples, channels"),
        ({"train_images": IMAGES[:0]}, "at least one of each"),
        ({"train_labels": LABELS[:-1]}, "one for each of 6 images"),
        ({"train_labels": LABELS * 1.0}, "labels are float64; expected whole numbers"),
        ({"train_labels": LABELS - 1}, "labels run from -1 to 1"),
        ({"train_labels": LABELS + 2**40}, "expected 0 upwards"),
        ({"train_labels": LABELS * 10**6}, "a label is 2000000; expected less than"),
        ({"train_labels": np.ones((6, 2), int)}, "one for each of 6 images"),
        ({"train_labels": np.array(3)}, "one for each of 6 images"),
        ({"test_images": IMAGES[:3, :3]}, "the test images are 1x3x5 uint8; expected 1x4x5"),
        ({"test_images": IMAGES[:3] / 255}, "and the test images 1x4x5 float32; expected the same"),
    ],
)
def test_wrong_arrays_are_named(tmp_path, changes, sentence):
    with pytest.raises(InputError, match=sentence):
        read(write(tmp_path / "mine.npz", **changes))


def test_missing_arrays_are_listed(tmp_path):
    np.savez(tmp_path / "mine.npz", x_train=IMAGES, y=LABELS)
    with pytest.raises(InputError, match="the arrays are x_train, y; expected train_images, "):
        read(tmp_path / "mine.npz")


@pytest.mark.parametrize("kept", [0, 10, 300, -30])
def test_a_file_that_is_cut_short_is_named(tmp_path, kept):
    path = write(tmp_path / "mine.npz")
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(InputError, match=r"mine.npz: this is no whole .npz file"):
        read(path)


def test_damaged_contents_are_named(tmp_path):
    path = write(tmp_path / "mine.npz")
    data = bytearray(path.read_bytes())
    data[200] ^= 255
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"mine.npz: "):
        read(path)


def with_header(path, header):
    """A file whose train_images have another header."""
    write(path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["train_images.npy"] = header
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def test_a_header_that_claims_too_much_is_refused_before_it_is_allocated(tmp_path):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": "|u1", "fortran_order": False, "shape": (10**9, 10**9)}
    )
    with pytest.raises(InputError, match="train_images claims the shape"):
        read(with_header(tmp_path / "mine.npz", file.getvalue()))


@pytest.mark.parametrize("header", [b"", b"hello", b"\x93NUMPY\x09\x00aaaa"])
def test_what_is_no_array_is_refused(tmp_path, header):
    with pytest.raises(InputError, match=r"no whole \.npz file"):
        read(with_header(tmp_path / "mine.npz", header))


def test_an_archive_that_claims_to_be_huge_is_refused(tmp_path):
    path = write(tmp_path / "mine.npz")
    with zipfile.ZipFile(path) as archive:
        real = archive.getinfo("train_images.npy").file_size
    claimed = (2**31).to_bytes(4, "little")
    path.write_bytes(path.read_bytes().replace(real.to_bytes(4, "little"), claimed))
    with pytest.raises(InputError, match=r"the header claims 2,147,483,648 bytes"):
        read(path)
