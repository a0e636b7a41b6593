"""The numbers that the paper prints about training: Figures 2 and 4 to 9, Tables III and VI.

Typed in from paper.tex, whose lines are given; never computed. The curves themselves are not in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

DEEP_CUT, SHALLOW_CUT = 5, 2
"""Figure 2: cutting at layer 5 "achieves higher accuracy", at layer 2 "lower" (line 92)."""


@dataclass(frozen=True)
class PrintedGain:
    """What AA HSFL-ll saves over the best rival on the way to an accuracy, in percent."""

    delay: float
    overhead: float


TABLE_III = {
    ("alexnet", 0.85): PrintedGain(7.25, 57.14),
    ("alexnet", 0.90): PrintedGain(22.00, 55.56),
    ("alexnet", 0.94): PrintedGain(20.00, 50.00),
    ("vgg11", 0.65): PrintedGain(35.00, 37.50),
    ("vgg11", 0.70): PrintedGain(28.41, 30.00),
    ("vgg11", 0.75): PrintedGain(11.34, 34.62),
    ("vgg19", 0.80): PrintedGain(5.48, 21.05),
    ("vgg19", 0.85): PrintedGain(11.00, 19.40),
    ("vgg19", 0.90): PrintedGain(8.22, 22.08),
    ("resnet101", 0.65): PrintedGain(28.22, 45.45),
    ("resnet101", 0.70): PrintedGain(19.42, 50.00),
    ("resnet101", 0.73): PrintedGain(8.25, 35.29),
}
"""By model and accuracy (lines 744 to 769)."""

Row = Mapping[str, float]
"""A quantity by contender."""

PRINTED: dict[str, dict[str, Row]] = {
    # Lines 779 and 781.
    "figure-4": {
        "seconds to 94 %": {"multihop": 2000, "aa-hsfl-ll": 1600},
        "GB to 94 %": {"multihop": 120, "aa-hsfl-ll": 60},
    },
    # Line 782.
    "figure-5": {
        "seconds to 70 %": {"locsfl": 2210, "aa-hsfl-ll": 1580},
        "GB to 70 %": {"locsfl": 500, "aa-hsfl-ll": 350},
    },
    # Line 784.
    "figure-6": {"seconds to 85 %": {"dtfl": 41_800, "aa-hsfl-ll": 37_200}},
    # Line 789.
    "figure-7": {"seconds to 70 %": {"dtfl": 44_800, "aa-hsfl-ll": 36_100}},
    # Line 841.
    "figure-8": {"GB to 90 %": {"aa-lambda-10": 30, "aa-lambda-50": 150, "aa-lambda-80": 200}},
    # Table VI, lines 921 to 938.
    "table-vi-vgg11": {
        "final accuracy (%)": {"aa-gamma-2": 76, "aa-gamma-7.5": 76.8, "aa-gamma-15": 75.2}
    },
    "table-vi-resnet101": {
        "final accuracy (%)": {"aa-gamma-2": 73, "aa-gamma-7.5": 73.2, "aa-gamma-15": 73}
    },
}
"""By study and by quantity, as the tables here call it; traffic is printed in TB there."""


@dataclass(frozen=True)
class PrintedMoment:
    """How accurate the best rival is at the moment at which AA HSFL-ll has an accuracy."""

    accuracy: float
    rival: str
    rival_accuracy: float


MOMENTS = {"alexnet": PrintedMoment(0.94, "dtfl", 0.91)}
"""By model (line 780)."""


@dataclass(frozen=True)
class PrintedRise:
    """Points of accuracy, at most, that a larger share of aggregators gains in the same time."""

    fewer: str
    more: str
    points: float


RISES = {
    "alexnet": PrintedRise("aa-lambda-10", "aa-lambda-25", 1),
    "resnet101": PrintedRise("aa-lambda-10", "aa-lambda-30", 3),
}
"""By model (line 830)."""

FALL = 4
"""Points of accuracy that may be lost where lambda exceeds 0.5 (line 836)."""
