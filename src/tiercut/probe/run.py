"""All cuts, in chunks: what a chunk found is handed over at once, and never done again."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import Any

from tiercut.cluster.workers import Alone, Ended, Workers
from tiercut.engines.build import find_settings
from tiercut.errors import InputError
from tiercut.models.trace import count_classes
from tiercut.plan.problem import check_cuts, shallowest_cut
from tiercut.probe.memory import Chunk, host_bytes, split_cuts
from tiercut.probe.result import Floats, Probe, results_of, with_results
from tiercut.probe.training import try_cuts
from tiercut.probe.trial import SCHEME, Trial
from tiercut.scenario import EngineSection

Results = dict[int, Floats]
"""The accuracies [epochs, clients] of each cut."""
Keep = Callable[[Probe], None]
"""Given what is known so far, after every chunk."""
Progress = Callable[[int, int, str], None]
"""Told how many epochs are done, of how many, and which cuts are tried."""


def keep_nothing(_: Probe) -> None:
    """A Keep that waits for the end."""


def silent(done: int, total: int, step: str) -> None:
    """A Progress that shows nothing."""


def run_probe(
    trial: Trial,
    cuts: Sequence[int],
    engine: EngineSection,
    threshold: float,
    *,
    known: Probe | None = None,
    keep: Keep = keep_nothing,
    progress: Progress = silent,
    workers: Workers | None = None,
    client_layers: int | None = None,
) -> Probe:
    """Try the cuts that are not `known` from a probe of the same trial; its others stay in.

    `client_layers` are the fewest that a client would keep under a plan, if not what is usual.
    """
    check_cuts(cuts, trial.model.depth, shallowest_cut(SCHEME.cost, client_layers))
    facts = _facts(trial, engine, threshold)
    results = {} if known is None else _known(known, facts)
    missing = sorted(set(cuts) - set(results))
    with closing(_try_all(trial, missing, engine, progress, workers or Alone())) as ends:
        for ended in ends:
            results |= ended.result()
            missing = [cut for cut in missing if cut not in ended.item]
            keep(with_results({**facts, "missing": tuple(missing)}, results))
    return with_results(facts, results)


def _try_all(
    trial: Trial, cuts: Sequence[int], engine: EngineSection, progress: Progress, workers: Workers
) -> Generator[Ended[Chunk, Results], None, None]:
    """The chunks of cuts as they end."""
    settings = find_settings(engine)
    chunks = split_cuts(trial, cuts, settings, workers.at_once, workers.memory)
    done: dict[Chunk, int] = {}

    def count(chunk: Chunk, epochs: int) -> None:
        done[chunk] = epochs
        busy = [one for one in done if done[one] < trial.epochs or one == chunk]
        step = f"cut {', '.join(str(cut) for one in busy for cut in one)}"
        progress(sum(done.values()), len(chunks) * trial.epochs, step)

    return workers.do(
        try_chunk,
        (trial, engine),
        chunks,
        hear=count,
        on_lost=lambda chunk, _: count(chunk, 0),
        claim=lambda chunk: host_bytes(trial, chunk, settings),
    )


def try_chunk(
    common: tuple[Trial, EngineSection], chunk: Chunk, say: Callable[[int], None]
) -> Results:
    """Try some cuts at once; says how many epochs are done."""
    say(0)
    trial, engine = common
    return try_cuts(trial, chunk, engine, say)


def _facts(trial: Trial, engine: EngineSection, threshold: float) -> dict[str, Any]:
    """All fields of a Probe but the cuts and what they gave."""
    return {
        "model": trial.model.name,
        "scheme": SCHEME.name,
        "seed": trial.seeds.root,
        "clients": trial.clients,
        "epochs": trial.epochs,
        "classes": count_classes(trial.model),
        "held_out": len(trial.held_out.labels),
        "fingerprint": trial.fingerprint(engine.precision),
        "threshold": threshold,
    }


def _known(known: Probe, facts: dict[str, Any]) -> Results:
    """The results of an earlier probe, which must have been one of the same trial."""
    for key in ("model", "seed", "clients", "epochs", "held_out"):
        if getattr(known, key) != facts[key]:
            raise InputError(
                f"the probe that is known already differs in its {key}; write to another file, or"
                f" remove that one"
            )
    if known.fingerprint != facts["fingerprint"]:
        raise InputError(
            "the probe that is known already was made with other data, another model or other"
            " training settings; write to another file, or remove that one"
        )
    return results_of(known)
