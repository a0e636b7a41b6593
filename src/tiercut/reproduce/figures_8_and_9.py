"""Figures 8 and 9: AA HSFL-ll with several shares of aggregators."""

from __future__ import annotations

from tiercut.measure.results import Contender, Results
from tiercut.reproduce.paper_curves import FALL, RISES, PrintedRise
from tiercut.reproduce.readings import accuracy_at, effort_to, final_accuracy, named
from tiercut.reproduce.results import Spread
from tiercut.reproduce.settings import TITLES
from tiercut.reproduce.study import Study, variant

SHARES = {"alexnet": (10, 25, 50, 80), "resnet101": (10, 30, 50, 80)}
"""Lambda in percent."""
TARGETS = {"alexnet": 0.90, "resnet101": 0.65}
"""Where traffic is compared; the paper says that only of AlexNet, at "nearly 90 %"."""
FEW, MANY = "aa-lambda-10", "aa-lambda-80"

METHOD = (
    "ceil(lambda N) clients aggregate; h, v and who serves whom are planned by `exact`.",
    "Seconds are virtual: those of the paper's equations on its fleet. The paper's own seconds and"
    " traffic are no target; ratios are.",
)


def _study(number: int, model: str, seeds: int) -> Study:
    return Study(
        title=f"Figure {number}: {TITLES[model]}, AA HSFL-ll with several shares of aggregators",
        file=f"figure-{number}",
        model=model,
        contenders=tuple(
            variant(f"LAMBDA_{percent}", share=percent / 100) for percent in SHARES[model]
        ),
        judge=judge,
        targets=(TARGETS[model],),
        seeds=seeds,
        method=METHOD,
    )


def judge(results: Results, model: str) -> list[str]:
    """The paper's three claims: accuracy rises a little, falls beyond one half; traffic rises."""
    found = (_rise(results, RISES[model]), _fall(results), _traffic(results, TARGETS[model]))
    return [sentence for sentence in found if sentence is not None]


def _rise(results: Results, printed: PrintedRise) -> str | None:
    """The accuracies of two shares at the moment at which the first of them ends."""
    fewer, more = (named(results, name) for name in (printed.fewer, printed.more))
    if fewer is None or more is None:
        return None
    when = min(_end_of(fewer), _end_of(more))
    before, after = accuracy_at(fewer, when), accuracy_at(more, when)
    if before is None or after is None:
        return None
    return (
        f"From {fewer.title} to {more.title} the paper gains up to {printed.points:g} points in the"
        f" same time; here {after.typical - before.typical:+.1f}."
    )


def _end_of(contender: Contender) -> float:
    return min(curve[-1].seconds for curve in contender.curves)


def _fall(results: Results) -> str | None:
    ends = {one.name: end for one in results.begun if (end := final_accuracy(one)) is not None}
    if MANY not in ends:
        return None
    best = max(ends, key=lambda name: ends[name].typical)
    return (
        f"Beyond lambda = 0.5 the paper loses up to {FALL} points; here lambda = 0.8 ends at"
        f" {ends[MANY].typical:.1f} %, {ends[best].typical - ends[MANY].typical:.1f} points below"
        f" the best, {results.manifest.titles[best]}."
    )


def _traffic(results: Results, target: float) -> str | None:
    few, many = (named(results, name) for name in (FEW, MANY))
    if few is None or many is None:
        return None
    sizes = [effort_to(one, target)["GB"] for one in (few, many)]
    if not all(isinstance(size, Spread) for size in sizes):
        return f"Not every seed of both lambda = 0.1 and 0.8 reaches {100 * target:g} %."
    low, high = (size.typical for size in sizes if isinstance(size, Spread))
    return (
        f"The paper's traffic rises with lambda; here lambda = 0.8 needs {high / low:.2f} times the"
        f" bytes of lambda = 0.1 to reach {100 * target:g} %."
    )


STUDIES = {
    "figure-8": _study(8, "alexnet", seeds=3),
    "figure-9": _study(9, "resnet101", seeds=1),
}
