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
LENGTHS = {5: "one epoch", 7: "a quarter of a pass over every client's examples"}
ALIKE = (
    "Every scheme averages models on one host every batch, sends activations and gradients as int8"
    " with a scale per sample, and may leave clients their first layer alone, on three tiers too,"
    " where the paper has two at least."
)
OWN_SETTINGS = (
    "Every scheme has a setting of its own, a cut and a learning rate, a momentum from round to"
    " round or a head: the one that was the first at an accuracy, of as many for all, measured on"
    " training examples that were kept back (`tiercut tune`)."
)


def freely_tuned(number: int, version: str, method: tuple[str, ...], tuning: str) -> Study:
    """A version in which every scheme has the setting that suits it best."""
    model = MODELS[number]
    what = f"{TITLES[model]} on {DATA[number]}"
    return Study(
        title=f"Figure {number}, {version}: {what}, everybody at its best",
        file=f"{version}-{model}",
        model=model,
        contenders=(
            *map(Contender, ("sfl", "multihop", "locsfl", "dtfl")),
            variant("DTFL_CONTENDED"),
            Contender("aa-hsfl-ll"),
        ),
        judge=judge,
        targets=targets_of(model),
        seeds=SEEDS[model],
        method=(ALIKE, *method, OWN_SETTINGS, *METHOD),
        tuning=f"{tuning}-{model}",
    )


STUDIES = {
    f"figure-{number}{FREE}": freely_tuned(number, "free", (f"A round is {length}.",), "settings")
    for number, length in LENGTHS.items()
}
