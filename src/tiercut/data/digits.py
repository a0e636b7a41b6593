"""The 8x8 digits that come with tiercut, so that a first run needs no download.

digits.npz is the test set of "Optical Recognition of Handwritten Digits" (E. Alpaydin and
C. Kaynak, UCI Machine Learning Repository, 1998, doi:10.24432/C50P49, CC BY 4.0): 1797 images of
8x8 pixels from 0 to 16, as scikit-learn ships them, in scikit-learn's order.
"""

from __future__ import annotations

from importlib import resources

import numpy as np

from tiercut.data.dataset import Dataset, make_dataset
from tiercut.data.split import hold_out

NAME = "digits"
CLASSES = tuple("0123456789")
BRIGHTEST = 16


def read() -> Dataset:
    """The digits, with a fifth of each class to test on; pixels are stretched to 0..255."""
    with (
        resources.as_file(resources.files("tiercut.data") / "digits.npz") as path,
        np.load(path) as file,
    ):
        pixels, labels = file["images"], file["labels"].astype(np.int64)
    images = np.rint(pixels * (255 / BRIGHTEST)).astype(np.uint8)
    return make_dataset(NAME, CLASSES, *hold_out(images, labels, NAME))
