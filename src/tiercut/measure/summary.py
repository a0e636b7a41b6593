"""summary.json: all that a comparison says, derived from its runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tiercut.documents import to_json, write_text
from tiercut.measure.gains import find_gains, scheme_of_interest
from tiercut.measure.manifest import Manifest
from tiercut.measure.points import Point
from tiercut.measure.results import Contender, Results, read_results
from tiercut.measure.spread import Spread
from tiercut.measure.targets import Reach, choose_targets, find_reach


def write_summary(folder: Path, targets: Sequence[float] | None = None) -> dict[str, Any]:
    """Derive the summary of a comparison anew, and put it into its folder."""
    summary = summarise(read_results(folder), targets)
    write_text(folder / "summary.json", to_json(summary))
    return summary


def summarise(results: Results, targets: Sequence[float] | None = None) -> dict[str, Any]:
    """The summary's JSON object; targets are those given, else asked for, else chosen."""
    manifest, contenders = results.manifest, results.begun
    wanted = manifest.targets if targets is None else targets
    chosen = choose_targets(contenders) if wanted is None else tuple(wanted)
    reaches = {c.name: {target: find_reach(c, target) for target in chosen} for c in contenders}
    gains = find_gains(reaches, scheme_of_interest(manifest.schemes), chosen)
    return {
        "version": 1,
        **_heading(manifest),
        "targets": list(chosen),
        "schemes": {c.name: _scheme(c, reaches[c.name]) for c in contenders},
        "gains": [vars(gain) for gain in gains],
    }


def _heading(manifest: Manifest) -> dict[str, Any]:
    scenario = manifest.scenario
    return {
        "name": scenario.name,
        "model": scenario.model.name,
        "data": scenario.data.name,
        "clients": manifest.clients,
        **_in_common(manifest, batch=None, epochs=None),
        **_in_common(manifest, portions=1, outer_momentum=0.0, server_share=1.0),
        "rounds": scenario.training.rounds,
        "cost": scenario.plan.cost,
    }


def _in_common(manifest: Manifest, **usual: float | None) -> dict[str, float]:
    """The keys of [training] that are the same for all schemes, and not what is usual."""
    own = {key for keys in manifest.overrides.values() for key in keys}
    values = {key: getattr(manifest.scenario.training, key) for key in usual}
    return {
        key: value
        for key, value in values.items()
        if value != usual[key] and f"training.{key}" not in own
    }


def _scheme(contender: Contender, reaches: dict[float, Reach]) -> dict[str, Any]:
    curves = contender.curves
    decision = contender.counted[0].decision
    assert decision is not None
    return {
        "title": contender.title,
        "seeds": [run.seed for run in contender.runs],
        "rounds_done": [len(run.points) for run in contender.runs],
        "counted": [run.seed for run in contender.counted],
        "complete": contender.is_complete,
        "final_accuracy": Spread.of([curve[-1].accuracy for curve in curves]).to_dict(),
        "best_accuracy": Spread.of([max(p.accuracy for p in curve) for curve in curves]).to_dict(),
        "curve": _curve(curves),
        "targets": {str(target): reach.to_dict() for target, reach in reaches.items()},
        "decision": decision.to_dict(),
    }


def _curve(curves: Sequence[Sequence[Point]]) -> dict[str, Any]:
    """The runs' curves as one, round by round."""
    rounds = list(zip(*curves, strict=True))
    accuracy = [Spread.of([point.accuracy for point in points]) for points in rounds]
    return {
        "round": [points[0].round for points in rounds],
        "accuracy": {
            "mean": [spread.mean for spread in accuracy],
            "low": [spread.low for spread in accuracy],
            "high": [spread.high for spread in accuracy],
        },
        "seconds": [Spread.of([point.seconds for point in points]).mean for points in rounds],
        "bytes": [Spread.of([point.bytes for point in points]).mean for points in rounds],
    }
