"""Where known data sets are downloaded from, and how to know that they arrived whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Remote:
    """A file: its addresses, tried in turn, and its MD5 checksum."""

    name: str
    urls: tuple[str, ...]
    md5: str


@dataclass(frozen=True)
class Package:
    """The files of a data set, and the folder they go to.

    An archive (.tar.gz) is unpacked; `inside` is the folder in it that becomes `folder`.
    """

    folder: str
    files: tuple[Remote, ...]
    page: str
    inside: str = ""


_MNIST = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
    "http://yann.lecun.com/exdb/mnist/",
)


def _mnist(name: str, md5: str) -> Remote:
    return Remote(name, tuple(base + name for base in _MNIST), md5)


ADDRESSES: Mapping[str, Package] = {
    "mnist": Package(
        "mnist",
        (
            _mnist("train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
            _mnist("train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432"),
            _mnist("t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3"),
            _mnist("t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c"),
        ),
        "http://yann.lecun.com/exdb/mnist/",
    ),
    "cifar10": Package(
        "cifar-10-batches-bin",
        (
            Remote(
                "cifar-10-binary.tar.gz",
                ("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",),
                "c32a1d4ab5d03f1284b67883e8d87530",
            ),
        ),
        "https://www.cs.toronto.edu/~kriz/cifar.html",
        inside="cifar-10-batches-bin",
    ),
    "cinic10": Package(
        "cinic-10",
        (
            Remote(
                "CINIC-10.tar.gz",
                (
                    "https://datashare.ed.ac.uk/bitstream/handle/10283/3192/CINIC-10.tar.gz",
                    "https://datashare.ed.ac.uk/server/api/core/bitstreams/"
                    "e8e186cc-2688-48f1-aa5a-3fda1a43f8b6/content",
                ),
                "6ee4d0c996905fe93221de577967a372",
            ),
        ),
        "https://datashare.ed.ac.uk/handle/10283/3192",
    ),
}
