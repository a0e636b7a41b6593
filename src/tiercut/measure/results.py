"""A comparison's folder, read: every scheme with its runs, one per seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tiercut.measure.decision import Decision, read_decision
from tiercut.measure.manifest import Manifest, read_manifest
from tiercut.measure.points import Point, read_points


@dataclass(frozen=True)
class Run:
    """One training of a scheme from one seed, as far as it got."""

    seed: int
    points: tuple[Point, ...]
    decision: Decision | None
    """None where it has not begun."""


@dataclass(frozen=True)
class Contender:
    """A scheme with its runs, in the order of the seeds."""

    name: str
    title: str
    rounds: int
    """How many each run is to have."""
    runs: tuple[Run, ...]
    until: float | None = None
    """The accuracy with which a run is over before it has all its rounds."""

    @property
    def begun(self) -> tuple[Run, ...]:
        """The runs that have trained at least a round."""
        return tuple(run for run in self.runs if run.points)

    @property
    def counted(self) -> tuple[Run, ...]:
        """The runs that means are taken over: the finished ones, or all while there is none."""
        return tuple(filter(self._is_over, self.runs)) or self.begun

    @property
    def is_complete(self) -> bool:
        """Whether every run is over."""
        return all(map(self._is_over, self.runs))

    def _is_over(self, run: Run) -> bool:
        return is_over(run.points, self.rounds, self.until)

    @property
    def curves(self) -> tuple[tuple[Point, ...], ...]:
        """The counted runs' curves, as far as all of them go."""
        common = min((len(run.points) for run in self.counted), default=0)
        return tuple(run.points[:common] for run in self.counted)


@dataclass(frozen=True)
class Results:
    """A comparison as far as it got."""

    manifest: Manifest
    contenders: tuple[Contender, ...]

    @property
    def begun(self) -> tuple[Contender, ...]:
        """The schemes of which there is something to see."""
        return tuple(contender for contender in self.contenders if contender.begun)


def run_path(folder: Path, scheme: str, seed: int) -> Path:
    """Where the run of a scheme from a seed is."""
    return folder / scheme / f"seed-{seed}"


def is_over(points: Sequence[Point], rounds: int, until: float | None) -> bool:
    """Whether a run has all its rounds, or was the first time as accurate as it was to be."""
    return len(points) >= rounds or (
        until is not None and any(point.accuracy >= until for point in points)
    )


def has_rounds(folder: Path, scheme: str, seed: int, rounds: int) -> bool:
    """Whether a run has so many; its weights are of no interest here, and may be gone."""
    return len(read_points(run_path(folder, scheme, seed) / "rounds.jsonl")) >= rounds


def read_results(folder: Path) -> Results:
    """All there is in the folder of a comparison."""
    manifest = read_manifest(folder)
    return Results(manifest, tuple(_contender(folder, manifest, n) for n in manifest.schemes))


def _contender(folder: Path, manifest: Manifest, name: str) -> Contender:
    rounds = manifest.rounds_of(name)
    runs = tuple(_run(run_path(folder, name, seed), seed, rounds) for seed in manifest.seeds)
    return Contender(name, manifest.titles[name], rounds, runs, manifest.until)


def _run(path: Path, seed: int, rounds: int) -> Run:
    points = read_points(path / "rounds.jsonl")[:rounds]  # others may have trained for longer
    return Run(seed, points, read_decision(path / "plan.json") if points else None)
