"""The scenario: one TOML file that drives plans, simulations and real runs, as checked values.

A section of the file is one class here; its fields are the keys, with their defaults and limits.
Quantities may be written with units ("20 Mbps", "17.6 GHz"). docs/guide.md shows a whole file.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from tiercut.documents import Document, check, read_toml
from tiercut.errors import InputError
from tiercut.units import FLOP_PER_CYCLE, RATE, THROUGHPUT, Dimension, parse, throughput_at

CostModel = Literal["paper", "network"]

WEAK, SERVER = "2.4 GHz", "100 GHz"
"""The paper's weak clients (2 cores at 1.2 GHz) and server (40 at 2.5 GHz)."""

MOST_EXAMPLES = 10**15
"""More than anybody has, and few enough to count in 64 bits."""


def _quantity(dimension: Dimension) -> Callable[[Any], float]:
    def read(value: Any) -> float:
        return _parse_or_refuse(value, dimension)

    return read


def _parse_or_refuse(value: Any, dimension: Dimension) -> float:
    try:
        return parse(value, dimension)
    except InputError as problem:
        raise ValueError(str(problem)) from None


Rate = Annotated[float, BeforeValidator(_quantity(RATE)), Field(gt=0)]


class ModelSection(Document):
    """Which model: a shipped name, a user's `package.module:factory`, or a profile file."""

    name: str
    profile: Path | None = Field(default=None, strict=False)
    input_shape: tuple[int, ...] | None = Field(default=None, strict=False)


class FleetSection(Document):
    """The devices: a fleet file, or how to sample one as the paper does.

    A share `strong_fraction` of the clients runs at `gamma` times the `weak` throughput; with
    `throughput = [low, high]` every client draws its own instead. Rates are uniform in `rates`.
    """

    file: Path | None = Field(default=None, strict=False)
    clients: int = Field(default=100, ge=1)
    examples: int = Field(default=500, ge=1, le=MOST_EXAMPLES)
    flop_per_cycle: float = Field(default=FLOP_PER_CYCLE, gt=0)
    strong_fraction: float = Field(default=0.3, ge=0, le=1)
    gamma: float = Field(default=17.6 / 2.4, ge=1)
    weak: float = Field(default=parse(WEAK, THROUGHPUT), gt=0)
    throughput: tuple[float, float] | None = Field(default=None, strict=False)
    server: float = Field(default=parse(SERVER, THROUGHPUT), gt=0)
    links: Literal["between", "access"] = "between"
    rates: tuple[Rate, Rate] = Field(
        default=(parse("20 Mbps", RATE), parse("25 Mbps", RATE)), strict=False
    )

    @model_validator(mode="before")
    @classmethod
    def _clock_rates(cls, data: Any) -> Any:
        """The defaults are clock rates too, so that `flop_per_cycle` counts for them."""
        return {"weak": WEAK, "server": SERVER, **data} if isinstance(data, dict) else data

    @field_validator("weak", "server", mode="before")
    @classmethod
    def _throughput(cls, value: Any, info: ValidationInfo) -> float:
        dimension = throughput_at(info.data.get("flop_per_cycle", FLOP_PER_CYCLE))
        return _parse_or_refuse(value, dimension)

    @field_validator("throughput", mode="before")
    @classmethod
    def _throughput_range(cls, value: Any, info: ValidationInfo) -> Any:
        return [cls._throughput(v, info) for v in value] if isinstance(value, list) else value

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        for key in ("rates", "throughput"):
            ends = getattr(self, key)
            if ends is not None and not 0 < ends[0] <= ends[1]:
                raise ValueError(f"{key} runs from {ends[0]:g} to {ends[1]:g}; expected low, high")
        return self


class DataSection(Document):
    """What is trained on, and how it is spread over the clients.

    `name` is a known set, or a path: an image folder or an .npz file.
    """

    name: str = "digits"
    dir: Path | None = Field(default=None, strict=False)
    partition: Literal["iid", "dirichlet", "shards", "quantity"] = "iid"
    alpha: float = Field(default=0.5, gt=0)
    shards: int = Field(default=2, ge=1)
    augment: bool = False


Interval = Literal["batch", "epoch", "round"] | Annotated[int, Field(ge=1)]
"""How often replicas on one host are averaged: at the end of every so many batches, epoch, round.

At `batch` they are one shared model, with one optimiser state.
"""


Wire = Literal["fp32", "bf16", "int8"]
"""What activations and gradients are sent as."""


class TrainingSection(Document):
    """How a round runs, and how many there are. B is `batch`, E is `epochs`."""

    batch: int = Field(default=32, ge=1, le=MOST_EXAMPLES)
    epochs: int = Field(default=3, ge=1, le=MOST_EXAMPLES)
    portions: int = Field(default=1, ge=1, le=MOST_EXAMPLES)
    """An epoch is one of so many portions of every client's examples, the next one's the next."""
    rounds: int = Field(default=20, ge=1, le=MOST_EXAMPLES)
    optimiser: Literal["sgd", "adam"] = "adam"
    rate: float = Field(default=1e-4, gt=0)
    momentum: float = Field(default=0.0, ge=0, lt=1)
    weight_decay: float = Field(default=0.0, ge=0)
    outer_momentum: float = Field(default=0.0, ge=0, lt=1)
    """From round to round, of layers of which there are several models."""
    head: Literal["flat", "pooled"] | None = None
    aggregator_interval: Interval | None = None
    server_interval: Interval | None = None
    wire: Wire = "fp32"
    server_share: float = Field(default=1.0, gt=0, le=1)
    """Under a local loss the server trains on this share of every batch."""
    participation: float = Field(default=1.0, gt=0, le=1)
    client_dropout: float = Field(default=0.0, ge=0, lt=1)


class EngineSection(Document):
    """How training is executed; nothing here changes what is trained, only its rounding."""

    name: Literal["stacked", "ray", "reference", "net"] = "stacked"
    executor: Literal["auto", "threads", "graph", "folded"] = "auto"
    device: str = "auto"
    precision: Literal["fp32", "tf32", "bf16", "fp64"] = "fp32"
    threads: int | None = Field(default=None, ge=1)
    workers: int | None = Field(default=None, ge=1)
    address: str | None = None
    checkpoint_every: int = Field(default=1, ge=0)
    """Rounds between two checkpoints; 0 is none at all: a run that is stopped starts over."""


class ProbeSection(Document):
    """Algorithm 1: which cut layers keep accuracy."""

    clients: int = Field(default=10, ge=1)
    epochs: int = Field(default=5, ge=1)
    threshold: float = Field(default=1.0, ge=0)
    held_out: int = Field(default=2000, ge=1)


class Event(Document):
    """What happens to some clients before a round: other work, other rates, or they leave.

    The clients are named, or a `share` of the fleet is drawn. `slow_down = 1.3` leaves each of them
    its throughput over 1.3; `rates` are drawn anew for all their links.
    """

    round: int = Field(ge=1)
    clients: tuple[str, ...] | None = Field(default=None, strict=False, min_length=1)
    share: float | None = Field(default=None, gt=0, le=1)
    slow_down: float | None = Field(default=None, gt=0)
    rates: tuple[Rate, Rate] | None = Field(default=None, strict=False)
    leave: bool = False

    @model_validator(mode="after")
    def _says_who_and_what(self) -> Self:
        if (self.clients is None) == (self.share is None):
            raise ValueError("an event names its clients, or gives their share; write one of them")
        if self.slow_down is None and self.rates is None and not self.leave:
            raise ValueError("an event changes nothing; give slow_down, rates or leave = true")
        if self.rates is not None and not 0 < self.rates[0] <= self.rates[1]:
            raise ValueError(f"rates run from {self.rates[0]:g} to {self.rates[1]:g}")
        return self


class PlanSection(Document):
    """How to plan: the solver, the cost model, the candidate cut layers (all, if not given).

    A client keeps `client_layers` or more; if not given, 2 on three tiers as in the paper, else 1.
    """

    solver: str = "exact"
    cost: CostModel = "paper"
    cuts: tuple[int, ...] | None = Field(default=None, strict=False, min_length=1)
    client_layers: int | None = Field(default=None, ge=1)


class Scenario(Document):
    """One experiment, from one file."""

    name: str
    seed: int = Field(default=0, ge=0)
    model: ModelSection
    fleet: FleetSection = FleetSection()
    data: DataSection = DataSection()
    training: TrainingSection = TrainingSection()
    plan: PlanSection = PlanSection()
    probe: ProbeSection = ProbeSection()
    engine: EngineSection = EngineSection()
    events: tuple[Event, ...] = Field(default=(), strict=False)


def read_scenario(path: Path) -> Scenario:
    """The scenario in a TOML file; paths inside it are relative to the file's folder."""
    data = read_toml(path)
    for section, key in (("fleet", "file"), ("model", "profile"), ("data", "dir")):
        table = data.get(section)
        if isinstance(table, dict) and isinstance(table.get(key), str):
            table[key] = str(path.parent / table[key])
    return check(Scenario, data, str(path))
