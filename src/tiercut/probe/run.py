"""All cuts, a chunk at a time: what a chunk found is handed over at once, and never done again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tiercut.engines.build import find_settings
from tiercut.errors import InputError
from tiercut.models.trace import count_classes
from tiercut.plan.problem import check_cuts, shallowest_cut
from tiercut.probe.memory import split_cuts
from tiercut.probe.result import Probe, results_of, with_results
from tiercut.probe.training import try_cuts
from tiercut.probe.trial import SCHEME, Trial
from tiercut.scenario import EngineSection

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
) -> Probe:
    """Try the cuts that are not `known` from a probe of the same trial; its others stay in."""
    check_cuts(cuts, trial.model.depth, shallowest_cut(SCHEME.cost))
    facts = _facts(trial, engine, threshold)
    results = {} if known is None else _known(known, facts)
    missing = sorted(set(cuts) - set(results))
    chunks = split_cuts(trial, missing, find_settings(engine))
    total = len(chunks) * trial.epochs
    for number, chunk in enumerate(chunks):
        done, step = number * trial.epochs, f"cut {', '.join(map(str, chunk))}"
        progress(done, total, step)

        def on_epoch(epoch: int, done: int = done, step: str = step) -> None:
            progress(done + epoch, total, step)

        results |= try_cuts(trial, chunk, engine, on_epoch)
        missing = missing[len(chunk) :]
        keep(with_results({**facts, "missing": tuple(missing)}, results))
    return with_results(facts, results)


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


def _known(known: Probe, facts: dict[str, Any]) -> dict[int, Any]:
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
    return dict(results_of(known))
