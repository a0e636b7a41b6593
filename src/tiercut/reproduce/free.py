"""Figures 4 to 7 with every scheme at the best of its settings: its cut, its rate, its options.

What replicas on several hosts learn cancels in part when they meet, which one model at the server
is spared. Momentum from round to round makes up for much of it and sends nothing. Two tiers may cut
after the first layer; then three tiers may leave clients that one alone too.
"""

from __future__ import annotations

from tiercut.reproduce.figures_4_to_7 import DATA, METHOD, MODELS, SEEDS, judge, targets_of
from tiercut.reproduce.settings import TITLES
from tiercut.reproduce.study import Contender, Study, variant

FREE = "-free"
EPOCH = "one epoch"
LENGTHS = {4: EPOCH, 5: EPOCH, 6: EPOCH, 7: "a quarter of a pass over every client's examples"}
ALIKE = (
    "Every scheme averages models on one host every batch, sends activations and gradients as int8"
    " with a scale per sample, and may leave clients their first layer alone, on three tiers too,"
    " where the paper has two at least.",
)
OWN_SETTINGS = (
    "Every scheme has a setting of its own, a cut and a learning rate, a momentum from round to"
    " round or a head: the one that was the first at an accuracy, of as many for all, measured on"
    " training examples that were kept back (`tiercut tune`)."
)


def _study(number: int) -> Study:
    model = MODELS[number]
    return Study(
        title=f"Figure {number}, free: {TITLES[model]} on {DATA[number]}, everybody at its best",
        file=f"free-{model}",
        model=model,
        contenders=(
            *map(Contender, ("sfl", "multihop", "locsfl", "dtfl")),
            variant("DTFL_CONTENDED"),
            Contender("aa-hsfl-ll"),
        ),
        judge=judge,
        targets=targets_of(model),
        seeds=SEEDS[model],
        method=(*ALIKE, f"A round is {LENGTHS[number]}.", OWN_SETTINGS, *METHOD),
        tuning=f"settings-{model}",
    )


STUDIES = {f"figure-{number}{FREE}": _study(number) for number in MODELS}
