"""What is trained on: data sets, where they come from, and who gets which examples.

    dataset    the values: images, labels, classes
    sources    a data set by its name or path; one file per format beside it
    addresses  where known sets are downloaded from, and their checksums
    download   a known set from its address into a folder
    partition  which client trains on which examples
    augment    random crops and mirror images, on the device; the only file here that needs torch

docs/data.md says what each format must look like.
"""

from tiercut.data.dataset import Dataset, Split
from tiercut.data.partition import label_counts, partition
from tiercut.data.sources import Load, load, remembering

__all__ = ["Dataset", "Load", "Split", "label_counts", "load", "partition", "remembering"]
