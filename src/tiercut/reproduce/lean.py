"""Figures 4 to 7 with as few bytes as possible: our leanest against the leanest rival."""

from __future__ import annotations

from tiercut.measure.results import Results
from tiercut.reproduce.figures_4_to_7 import AA, DATA, MODELS, RATES, SEEDS, targets_of
from tiercut.reproduce.readings import GIGABYTE
from tiercut.reproduce.savings import cost_to
from tiercut.reproduce.settings import TITLES
from tiercut.reproduce.study import Contender, Study

LEAN = "-lean"
RIVAL = "locsfl"
METHOD = (
    "Both average models on one host every batch and send activations as int8, with a scale per"
    " sample; each has the plan whose rounds send the fewest bytes, whatever their delay.",
    "LocSFL is the leanest rival: SFL and Multihop SFL send gradients as well, and the fewest bytes"
    " that DTFL can send are LocSFL's, since all clients have the same amount of data.",
    "AA HSFL-ll with the fewest bytes is everybody serving itself, which is LocSFL; but three tiers"
    " cut at layer 3 or deeper, and LocSFL may cut at 1 and 2 as well.",
)


def _study(number: int) -> Study:
    model = MODELS[number]
    return Study(
        title=f"Figure {number}, lean: {TITLES[model]} on {DATA[number]}, the fewest bytes",
        file=f"lean-{model}",
        model=model,
        contenders=(Contender(RIVAL, {"plan.solver": "locsfl-lean"}), Contender(AA)),
        judge=judge,
        targets=targets_of(model),
        seeds=SEEDS[model],
        method=METHOD,
        tuning=RATES.get(model),
    )


def judge(results: Results, model: str) -> list[str]:
    """The traffic of both to each accuracy."""
    return [
        f"At {100 * target:g} %: {_sent(results, AA, target)} and {_sent(results, RIVAL, target)}."
        for target in targets_of(model)
    ]


def _sent(results: Results, name: str, target: float) -> str:
    title, cost = results.manifest.titles[name], cost_to(results, name, target)
    if cost is None:
        return f"{title} does not get there from every seed"
    return f"{title} has sent {cost.traffic / GIGABYTE:.3g} GB"


STUDIES = {f"figure-{number}{LEAN}": _study(number) for number in MODELS}
