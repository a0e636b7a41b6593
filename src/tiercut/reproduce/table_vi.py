"""Table VI: the accuracy of AA HSFL-ll as strong clients grow faster than weak ones."""

from __future__ import annotations

from tiercut.measure.results import Results
from tiercut.reproduce.paper_curves import PRINTED
from tiercut.reproduce.readings import final_accuracy
from tiercut.reproduce.results import Spread
from tiercut.reproduce.settings import TITLES
from tiercut.reproduce.study import Study, variant

GAMMAS = {"GAMMA_2": 2.0, "GAMMA_7": 7.5, "GAMMA_15": 15.0}
METHOD = (
    "Weak clients keep their throughput; strong ones have gamma times as much.",
    "The fleet decides who serves whom and at which layer h; data and initial weights are the same"
    " for every gamma.",
)


def _study(model: str, seeds: int) -> Study:
    return Study(
        title=f"Table VI: {TITLES[model]}, accuracy as clients differ more",
        file=f"table-vi-{model}",
        model=model,
        contenders=tuple(
            variant(constant, own={"fleet.gamma": gamma}) for constant, gamma in GAMMAS.items()
        ),
        judge=judge,
        seeds=seeds,
        method=METHOD,
    )


def judge(results: Results, model: str) -> list[str]:
    """How far the accuracies lie apart, in the paper and here."""
    ends = [end for one in results.begun if (end := final_accuracy(one)) is not None]
    (printed,) = PRINTED[f"table-vi-{model}"].values()
    width = max(end.typical for end in ends) - min(end.typical for end in ends)
    paper = max(printed.values()) - min(printed.values())
    return [
        f"Over gamma the paper's accuracies differ by {paper:.1f} points, ours by {width:.1f};"
        f" {_spread_of_seeds(results, ends)}."
    ]


def _spread_of_seeds(results: Results, ends: list[Spread]) -> str:
    """How much of that may be chance."""
    if len(results.manifest.seeds) == 1:
        return "with one seed for each, how much of that is chance is not known"
    return f"seeds of one gamma differ by up to {max(end.high - end.low for end in ends):.1f}"


STUDIES = {
    "table-vi-vgg11": _study("vgg11", seeds=3),
    "table-vi-resnet101": _study("resnet101", seeds=1),
}
