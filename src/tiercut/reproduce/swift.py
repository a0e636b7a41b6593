"""Figures 6 and 7 for the least delay: models meet after every epoch, for every scheme.

Weights of a few layers are small beside the activations of an epoch, so that averaging them three
times as often hardly makes an epoch longer, and fewer of them are needed.
"""

from __future__ import annotations

from tiercut.reproduce.figures_4_to_7 import same_for_all

SWIFT = "-swift"
NUMBERS = (6, 7)
METHOD = (
    "A round is one epoch, so that all models are averaged three times as often as in the paper;"
    " activations and gradients are sent as int8, with a scale per sample.",
)

STUDIES = {
    f"figure-{number}{SWIFT}": same_for_all(number, "swift", "swift", METHOD) for number in NUMBERS
}
