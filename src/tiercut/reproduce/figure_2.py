"""Figure 2: LocSFL, cut at several layers."""

from __future__ import annotations

from tiercut.measure.results import Results
from tiercut.reproduce.paper_curves import DEEP_CUT, SHALLOW_CUT
from tiercut.reproduce.readings import final_accuracy, named
from tiercut.reproduce.settings import TITLES
from tiercut.reproduce.study import Study, variant

CUTS = {"alexnet": (2, 3, 4, 5), "vgg11": (2, 3, 5, 8)}
METHOD = (
    "LocSFL: a local loss at the cut v; the server's part is averaged every epoch.",
    "A round is three epochs, and accuracy is that of the averaged model after every round.",
)


def _study(model: str, part: str) -> Study:
    return Study(
        title=f"Figure 2{part}: {TITLES[model]} with a local loss at several cuts",
        file=f"figure-2-{model}",
        model=model,
        contenders=tuple(variant(f"CUT_{v}", own={"plan.cuts": [v]}) for v in CUTS[model]),
        judge=judge,
        seeds=3,
        method=METHOD,
        axes=("round",),
    )


def judge(results: Results, model: str) -> list[str]:
    """Whether the deeper cut is the more accurate one, as the paper says, and which is best."""
    ends = {one.name: end for one in results.contenders if (end := final_accuracy(one)) is not None}
    deep, shallow = (ends.get(f"locsfl-v{v}") for v in (DEEP_CUT, SHALLOW_CUT))
    if deep is None or shallow is None:
        return []
    best = named(results, max(ends, key=lambda name: ends[name].typical))
    assert best is not None
    if deep.low > shallow.high:
        verdict = "so this is found here too"
    elif shallow.low > deep.high:
        verdict = "so here it is the other way round"
    else:
        verdict = "and their seeds overlap, so that nothing is settled"
    return [
        f"The paper says that v = {DEEP_CUT} is more accurate than v = {SHALLOW_CUT}; here they end"
        f" at {deep.typical:.1f} % and {shallow.typical:.1f} %, {verdict}.",
        f"The most accurate cut here is {best.title}, with {ends[best.name].typical:.1f} %.",
    ]


STUDIES = {
    "figure-2-alexnet": _study("alexnet", "a"),
    "figure-2-vgg11": _study("vgg11", "b"),
}
