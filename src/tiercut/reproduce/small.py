"""Figures 6 and 7 in small batches: four times as many steps, and models that meet more often.

By the paper's equations a batch of 8 takes a quarter of the time of one of 32. From a quarter of
every batch (see fine.py) the server of VGG-19 learned too little, so that its share is tuned.
"""

from __future__ import annotations

from tiercut.reproduce.free import freely_tuned

SMALL = "-small"
STEPS = "A batch has 8 samples, and a round is a quarter of a pass over every client's examples."
METHOD = (
    STEPS,
    "Under a local loss the server trains on every sample or on every other one, whichever suits a"
    " scheme better; SFL and Multihop SFL have none, and their server sees everything.",
)
NUMBERS = (6, 7)

STUDIES = {
    f"figure-{number}{SMALL}": freely_tuned(number, "small", METHOD, "settings-small")
    for number in NUMBERS
}
