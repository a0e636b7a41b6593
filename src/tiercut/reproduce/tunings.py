"""What free, small and fine versions are tuned over: as many settings for every scheme of a figure.

Cuts are around the fastest of a scheme and towards the shallower ones, with which more is one model
at the server. Where one cut is far faster than the rest, a scheme has more heads to try instead, or
momenta, or rates; SFL and Multihop SFL have no head, and more cuts for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tiercut.compare.settings import Values, combinations
from tiercut.measure.tuning import Aim, Settings
from tiercut.reproduce import fine, free, small
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
RATES: Values = {"training.rate": (3e-4, 1e-3)}

VGG11 = {
    "sfl": {**MOMENTA, **_cuts([4], [5], [6], [8])},
    "multihop": {**MOMENTA, **_cuts([5], [6], [7], [8])},
    "locsfl": {**MOMENTA, **_cuts([4], [6]), **HEADS},
    "dtfl": {**MOMENTA, **_cuts([4, 5, 6, 7, 8], [5, 6, 7, 8]), **HEADS},
    "dtfl-contended": {**MOMENTA, **_cuts([4, 6, 7, 8], [5, 6, 7, 8]), **HEADS},
    "aa-hsfl-ll": {**MOMENTA, **_cuts([6], [7]), **HEADS},
}
RESNET101_TIERS = _cuts([1, 16, 22, 28, 34], [10, 16, 22, 28, 34])
RESNET101 = {
    "sfl": {**RATES, **_cuts([1]), **MOMENTA},
    "multihop": {**RATES, **_cuts([10], [22])},
    "locsfl": {**RATES, **_cuts([1], [10])},
    "dtfl": {**RATES, **RESNET101_TIERS},
    "dtfl-contended": {**RATES, **RESNET101_TIERS},
    "aa-hsfl-ll": {**RATES, **_cuts([16], [22])},
}

SHARES: Values = {"training.server_share": (1.0, 0.5)}

SMALL_VGG19 = {
    "sfl": _cuts([2], [3], [4], [5]),
    "multihop": _cuts([6], [8], [10], [12]),
    "locsfl": {**SHARES, **_cuts([5], [7])},
    "dtfl": {**SHARES, **_cuts([4, 8], [6, 8, 10])},
    "dtfl-contended": {**SHARES, **_cuts([4, 8], [6, 8])},
    "aa-hsfl-ll": {**SHARES, **_cuts([7], [8])},
}
"""At 3e-4: of RATES the better one of all in FINE_VGG11."""
SMALL_RESNET101 = {
    "sfl": {**RATES, **_cuts([1]), **MOMENTA},
    "multihop": _cuts([7], [10], [22], [28]),
    "locsfl": {**SHARES, **_cuts([10], [16])},
    "dtfl": {**SHARES, **_cuts([4, 16], [7, 13, 28])},
    "dtfl-contended": {**SHARES, **_cuts([10, 22], [13, 28])},
    "aa-hsfl-ll": {**SHARES, **_cuts([16], [22])},
}
"""At 3e-4: of RATES the better one of all in RESNET101 but SFL."""

FINE_ALEXNET = {
    "sfl": {**RATES, **_cuts([4], [5], [6])},
    "multihop": {**RATES, **_cuts([4], [5], [6])},
    "locsfl": {**RATES, **_cuts([2], [3], [4])},
    "dtfl": {**RATES, **_cuts([1, 2, 3, 4, 5, 6, 7], [2, 3, 4, 5], [3, 4, 5])},
    "dtfl-contended": {**RATES, **_cuts([2, 3], [3, 4], [4, 5])},
    "aa-hsfl-ll": {**RATES, **_cuts([3], [4], [5])},
}
FINE_VGG11 = {
    "sfl": {**RATES, **_cuts([4], [5], [6])},
    "multihop": {**RATES, **_cuts([5], [6], [7])},
    "locsfl": {**RATES, **_cuts([2], [3], [4])},
    "dtfl": {**RATES, **_cuts([2, 3, 4, 5, 6], [3, 4, 5, 6], [4, 5, 6])},
    "dtfl-contended": {**RATES, **_cuts([2, 3], [4], [4, 5])},
    "aa-hsfl-ll": {**RATES, **_cuts([3], [4], [5])},
}
FINE_VGG19 = {
    "sfl": _cuts([2], [3], [4]),
    "multihop": _cuts([6], [8], [10]),
    "locsfl": _cuts([2], [3], [4]),
    "dtfl": _cuts([2, 3, 4, 5, 6], [3, 4, 5, 6, 8], [4, 5, 6]),
    "dtfl-contended": _cuts([2, 3], [3, 4], [4, 5, 6]),
    "aa-hsfl-ll": _cuts([3], [4], [5]),
}
"""At 3e-4, as SMALL_VGG19."""


def _tunings() -> dict[str, Tuning]:
    """By the folder that the study reads what was found from."""
    terms: dict[str, tuple[float, int, Mapping[str, Values]]] = {
        "settings-vgg11": (0.65, 24, VGG11),
        "settings-resnet101": (0.45, 24, RESNET101),
        "settings-small-vgg19": (0.85, 60, SMALL_VGG19),
        "settings-small-resnet101": (0.45, 24, SMALL_RESNET101),
        "settings-fine-alexnet": (0.94, 16, FINE_ALEXNET),
        "settings-fine-vgg11": (0.70, 48, FINE_VGG11),
        "settings-fine-vgg19": (0.85, 60, FINE_VGG19),
    }
    trained = free.STUDIES | small.STUDIES | fine.STUDIES
    return {
        str(one.tuning): Tuning(one, *terms[str(one.tuning)])
        for one in (*trained.values(), fine.TRIED)
    }


TUNINGS = _tunings()
