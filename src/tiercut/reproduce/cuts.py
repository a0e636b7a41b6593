"""Figure 7 with AA HSFL-ll cut before the layer of its fastest round.

The further down the cut, the more of the model is one model at the server: rounds take longer, and
fewer may do.
"""

from __future__ import annotations

from tiercut.measure.results import Results
from tiercut.reproduce.figures_4_to_7 import DATA, MODELS, SEEDS, at_its_rate, targets_of
from tiercut.reproduce.readings import final_accuracy
from tiercut.reproduce.savings import cost_to
from tiercut.reproduce.settings import TITLES
from tiercut.reproduce.study import Study, variant
from tiercut.units import show_time

CUTS = "-cuts"
LAYERS = {7: (6, 10, 14)}
"""By the figure's number: where AA HSFL-ll is cut."""
NAMES = tuple(f"aa-v{layer}" for layers in LAYERS.values() for layer in layers)
METHOD = (
    "AA HSFL-ll with the options of the brisk version and a given cut v; h, the aggregators and who"
    " serves whom are planned by `exact`.",
    "Rivals are those of the other versions. SFL, the one to beat, has its fastest cut already at"
    " layer 1, where nearly all of its model is one model at the server.",
)


def _study(number: int) -> Study:
    model = MODELS[number]
    contenders = (
        variant(f"AA_CUT_{layer}", own={"plan.cuts": [layer]}) for layer in LAYERS[number]
    )
    return Study(
        title=f"Figure {number}, cuts: {TITLES[model]} on {DATA[number]}, AA HSFL-ll cut earlier",
        file=f"brisk-{model}",
        model=model,
        contenders=tuple(at_its_rate(one, model) for one in contenders),
        judge=judge,
        targets=targets_of(model),
        seeds=SEEDS[model],
        method=METHOD,
    )


def judge(results: Results, model: str) -> list[str]:
    """Which cut takes the least time to each accuracy, and which ends the most accurate."""
    sentences = [_first(results, target) for target in targets_of(model)]
    ends = {one.title: end for one in results.begun if (end := final_accuracy(one)) is not None}
    best = max(ends, key=lambda title: ends[title].typical)
    return [*sentences, f"The most accurate in the end is {best}, {ends[best].typical:.1f} %."]


def _first(results: Results, target: float) -> str:
    costs = {one.title: cost_to(results, one.name, target) for one in results.begun}
    delays = {title: cost.delay for title, cost in costs.items() if cost is not None}
    if not delays:
        return f"No cut gets to {100 * target:g} % from every seed."
    least = min(delays, key=lambda title: delays[title])
    return f"{least} is the first at {100 * target:g} %, after {show_time(delays[least])}."


STUDIES = {f"figure-{number}{CUTS}": _study(number) for number in LAYERS}
