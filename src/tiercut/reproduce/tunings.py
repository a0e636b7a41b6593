"""What the free versions of figures are tuned over: as many settings for every scheme of a study.

Cuts are around the fastest of a scheme and towards the shallower ones, with which more is one model
at the server. Where one cut is far faster than the rest, a scheme has more heads to try instead, or
momenta; SFL and Multihop SFL have no head, and more cuts for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tiercut.compare.settings import Values, combinations
from tiercut.measure.tuning import Aim, Settings
from tiercut.reproduce.free import STUDIES
from tiercut.reproduce.study import Study

SEED = 100
"""No figure has it."""


@dataclass(frozen=True)
class Tuning:
    """Settings to try, and the one budget for all schemes."""

    study: Study
    """Whose schemes are tuned, in its scenario."""
    target: float
    """Of a scheme's settings the one is taken with which it is the first at this accuracy."""
    rounds: int
    values: Mapping[str, Values]
    """What is tried of each key, by scheme."""

    @property
    def aim(self) -> Aim:
        """What the best setting is best at."""
        return Aim("time-to-accuracy", self.target)

    @property
    def settings(self) -> dict[str, Settings]:
        """Every combination of a scheme's values."""
        return {name: combinations(values) for name, values in self.values.items()}


def _cuts(*sets: list[int]) -> Values:
    return {"plan.cuts": sets}


MOMENTA: Values = {"training.outer_momentum": (0.0, 0.8)}
HEADS: Values = {"training.head": ("flat", "pooled")}
LOW: Values = {"training.rate": (3e-4, 1e-3)}
HIGH: Values = {"training.rate": (1e-3, 3e-3)}
"""For AlexNet, for which 1e-3 was the best of four."""

ALEXNET = {
    "sfl": {**HIGH, **MOMENTA, **_cuts([4], [5])},
    "multihop": {**HIGH, **MOMENTA, **_cuts([5], [6])},
    "locsfl": {**HIGH, **MOMENTA, **_cuts([5]), **HEADS},
    "dtfl": {**HIGH, **MOMENTA, **_cuts([4, 5, 6, 7], [5, 6, 7])},
    "dtfl-contended": {**HIGH, **MOMENTA, **_cuts([4, 5, 6, 7], [5, 6, 7])},
    "aa-hsfl-ll": {**HIGH, **MOMENTA, **_cuts([5]), **HEADS},
}
VGG11 = {
    "sfl": {**MOMENTA, **_cuts([4], [5], [6], [8])},
    "multihop": {**MOMENTA, **_cuts([5], [6], [7], [8])},
    "locsfl": {**MOMENTA, **_cuts([4], [6]), **HEADS},
    "dtfl": {**MOMENTA, **_cuts([4, 5, 6, 7, 8], [5, 6, 7, 8]), **HEADS},
    "dtfl-contended": {**MOMENTA, **_cuts([4, 6, 7, 8], [5, 6, 7, 8]), **HEADS},
    "aa-hsfl-ll": {**MOMENTA, **_cuts([6], [7]), **HEADS},
}
VGG19_TIERS = _cuts([4, 8, 12], list(range(6, 17)))
VGG19 = {
    "sfl": {**LOW, **_cuts([2], [3], [4], [5])},
    "multihop": {**LOW, **_cuts([6], [8], [10], [12])},
    "locsfl": {**LOW, **_cuts([4], [7]), **HEADS},
    "dtfl": {**LOW, **VGG19_TIERS, **HEADS},
    "dtfl-contended": {**LOW, **VGG19_TIERS, **HEADS},
    "aa-hsfl-ll": {**LOW, **_cuts([8], [9]), **HEADS},
}
RESNET101_TIERS = _cuts([1, 16, 22, 28, 34], [10, 16, 22, 28, 34])
RESNET101 = {
    "sfl": {**LOW, **_cuts([1]), **MOMENTA},
    "multihop": {**LOW, **_cuts([10], [22])},
    "locsfl": {**LOW, **_cuts([1], [10])},
    "dtfl": {**LOW, **RESNET101_TIERS},
    "dtfl-contended": {**LOW, **RESNET101_TIERS},
    "aa-hsfl-ll": {**LOW, **_cuts([16], [22])},
}


def _tunings() -> dict[str, Tuning]:
    """By the folder that the study reads what was found from."""
    terms = {
        "alexnet": (0.94, 20, ALEXNET),
        "vgg11": (0.65, 24, VGG11),
        "vgg19": (0.85, 30, VGG19),
        "resnet101": (0.45, 24, RESNET101),
    }
    return {str(study.tuning): Tuning(study, *terms[study.model]) for study in STUDIES.values()}


TUNINGS = _tunings()
