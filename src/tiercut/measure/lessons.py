"""What finished runs teach about rounds: their decisions and curves, if they trained the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic import ConfigDict

from tiercut.documents import Document, check, check_version, read_json, read_lines
from tiercut.errors import InputError
from tiercut.measure.points import Point
from tiercut.plan.goal.lesson import Lesson
from tiercut.scenario import Interval, Scenario
from tiercut.schemes.registry import SHIPPED
from tiercut.schemes.scheme import Part, Scheme

SAME = {
    "model": ("name",),
    "fleet": ("examples",),
    "data": ("name", "partition", "alpha", "shards", "augment"),
    "training": (
        *("batch", "epochs", "portions", "optimiser", "rate", "momentum", "weight_decay", "head"),
        *("outer_momentum", "participation", "client_dropout", "wire", "server_share"),
    ),
}
"""What rounds depend on beside the plan: a run in which it differs teaches nothing here."""


class Round(Point):
    """A round with what was decided for it."""

    aggregator_layer: int | None
    cut_layer: int | None
    aggregators: int | None
    clients: int


class RunManifest(Document):
    """What a run was made of, as far as it is looked at."""

    model_config = ConfigDict(extra="ignore")

    version: int
    scheme: str
    scenario: Scenario


@dataclass(frozen=True)
class Lessons:
    """The runs to learn from, and why others are not among them."""

    runs: tuple[Lesson, ...]
    left_out: dict[str, int]
    """How many, by the reason."""

    @property
    def omissions(self) -> str:
        """The reasons as a clause; empty where there are none."""
        reasons = ", ".join(f"{count} {reason}" for reason, count in self.left_out.items())
        return f"runs left out: {reasons}" if reasons else ""


def read_lessons(folders: Iterable[Path], like: Scenario, clients: int) -> Lessons:
    """The runs in and below some folders that trained as `like` does, with so many clients."""
    runs: list[Lesson] = []
    left_out: Counter[str] = Counter()
    for folder in folders:
        paths = sorted(folder.rglob("rounds.jsonl"))
        if not paths:
            raise InputError(
                f"{folder}: there is no run here; give the folder of a `tiercut train` or `tiercut"
                f" compare`"
            )
        for path in paths:
            found = _read(path, like, clients)
            if isinstance(found, Lesson):
                runs.append(found)
            else:
                left_out[found] += 1
    lessons = Lessons(tuple(runs), dict(left_out))
    if not runs:
        raise InputError(
            f"no run can be learned from; {lessons.omissions}; give runs that trained as the"
            f" scenario says"
        )
    return lessons


def _read(path: Path, like: Scenario, clients: int) -> Lesson | str:
    """A run's lesson, or why it has none."""
    source = path.with_name("manifest.json")
    data = read_json(source)
    check_version(data, str(source), "manifest")
    manifest = check(RunManifest, data, str(source))
    scheme = SHIPPED.get(manifest.scheme)
    if scheme is None or not scheme.local_loss or scheme.cost.cut_per_client:
        return f"of {manifest.scheme}"
    differs = _difference(manifest.scenario, like)
    if differs is not None:
        return f"with another {differs}"
    rounds = read_lines(path, Round)
    decisions = {(r.aggregator_layer, r.cut_layer, r.aggregators, r.clients) for r in rounds}
    if len(decisions) != 1:
        return "with changing plans" if rounds else "without a round"
    ((h, v, aggregators, count),) = decisions
    if count != clients or v is None:
        return "with another number of clients"
    curve = tuple(r.accuracy for r in rounds)
    intervals = intervals_of(scheme, manifest.scenario)
    return Lesson(h or v, v, aggregators or clients, intervals, curve)


def _difference(one: Scenario, other: Scenario) -> str | None:
    """The first key that matters and differs."""
    keys = [(section, key) for section, names in SAME.items() for key in names]
    return next(
        (
            f"{section}.{key}"
            for section, key in keys
            if getattr(getattr(one, section), key) != getattr(getattr(other, section), key)
        ),
        None,
    )


def intervals_of(scheme: Scheme, scenario: Scenario) -> tuple[Interval, Interval]:
    """How often a scheme averages the aggregators' and the server's parts in a scenario."""
    training = scenario.training
    own = scheme.with_intervals(
        {Part.AGGREGATOR: training.aggregator_interval, Part.SERVER: training.server_interval}
    )
    return own.interval(Part.AGGREGATOR), own.interval(Part.SERVER)
