"""Small data sets written in every format, as their authors write them."""

import gzip
import struct

import numpy as np
from PIL import Image

COUNT = 12
STREAM = np.random.default_rng(0)


def pixels(*shape):
    return STREAM.integers(0, 256, shape, dtype=np.uint8)


def as_idx(array, magic=None, sizes=None):
    """The bytes of an IDX file."""
    sizes = array.shape if sizes is None else sizes
    magic = 0x800 + len(sizes) if magic is None else magic
    return struct.pack(f">{1 + len(sizes)}I", magic, *sizes) + array.tobytes()


def write_mnist(folder, *, compressed=False, **replaced):
    """Four files; `replaced` are their bytes by name, with _ for -."""
    folder.mkdir(parents=True, exist_ok=True)
    made = {}
    for part in ("train", "t10k"):
        made[f"{part}-images-idx3-ubyte"] = pixels(COUNT, 28, 28)
        made[f"{part}-labels-idx1-ubyte"] = np.arange(COUNT, dtype=np.uint8) % 10
    for name, array in made.items():
        data = replaced.get(name.replace("-", "_"), as_idx(array))
        if compressed:
            (folder / f"{name}.gz").write_bytes(gzip.compress(data))
        else:
            (folder / name).write_bytes(data)
    return made


CIFAR_NAMES = [*(f"data_batch_{n}" for n in range(1, 6)), "test_batch"]


def write_cifar(folder, suffix, pack):
    """Six files, each `pack`ed from its images and labels."""
    folder.mkdir(parents=True, exist_ok=True)
    made = {name: (pixels(COUNT, 3072), np.arange(COUNT) % 10) for name in CIFAR_NAMES}
    for name, (images, labels) in made.items():
        (folder / f"{name}{suffix}").write_bytes(pack(images, labels))
    return made


def as_records(images, labels):
    """The binary version's records."""
    return np.hstack([labels[:, None].astype(np.uint8), images]).tobytes()


def as_python2_pickle(images, labels):
    """The Python version's pickle, opcode by opcode as Python 2 wrote it."""

    def text(value):
        return b"T" + struct.pack("<i", len(value)) + value

    def number(value):
        return b"J" + struct.pack("<i", value)

    shape = b"".join(number(size) for size in images.shape)
    dtype = b"cnumpy\ndtype\n" + text(b"u1") + number(0) + number(1) + b"\x87R"
    dtype += b"(" + number(3) + text(b"|") + b"NNN" + number(-1) + number(-1) + number(0) + b"tb"
    array = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\n" + number(0) + b"\x85"
    array += text(b"b") + b"\x87R" + b"(" + number(1) + b"(" + shape + b"t" + dtype + b"\x89"
    array += text(images.tobytes()) + b"tb"
    listed = b"](" + b"".join(number(int(label)) for label in labels) + b"e"
    return b"\x80\x02}(" + text(b"data") + array + text(b"labels") + listed + b"u."


def write_images(folder, classes, count=5, size=(6, 4), mode="RGB"):
    """A folder of random PNG files for each class; returns the images in order."""
    made = []
    for name in classes:
        (folder / name).mkdir(parents=True)
        for i in range(count):
            width, height = size
            shape = (height, width) if mode == "L" else (height, width, 3)
            image = pixels(*shape)
            Image.fromarray(image).save(folder / name / f"{i:03d}.png")
            made.append(image)
    return made
