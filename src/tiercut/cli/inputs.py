"""What the verbs share: options, and the values they stand for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar, get_args

import typer

from tiercut.errors import InputError

if TYPE_CHECKING:
    from tiercut.cost import SchemeCost, Workload
    from tiercut.fleet import Fleet
    from tiercut.models.profile import Profile
    from tiercut.plan.plan import PlanFile
    from tiercut.scenario import CostModel, ModelSection, Scenario

ScenarioArgument = Annotated[
    Path | None, typer.Argument(help="A scenario file (TOML); or give --fleet and --profile.")
]
FleetOption = Annotated[Path | None, typer.Option("--fleet", help="Fleet file (JSON).")]
ProfileOption = Annotated[
    str | None, typer.Option("--profile", help="Profile file (JSON), or a shipped model's name.")
]
BatchOption = Annotated[int | None, typer.Option("--batch", help="Batch size B [32].")]
EpochsOption = Annotated[int | None, typer.Option("--epochs", help="Epochs per round E [3].")]
CostOption = Annotated[
    str | None, typer.Option("--cost", help="Cost model: paper or network [paper].")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")]
OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write the result to this file.")
]


@dataclass(frozen=True, eq=False)
class Inputs:
    """A fleet and a model's work, from a scenario or from files; options win over the scenario."""

    scenario: Scenario | None
    fleet: Fleet
    work: Workload
    cost: CostModel
    client_layers: int | None
    """The fewest layers that a client keeps."""

    def cuts(self, given: str | None, scheme: SchemeCost) -> tuple[int, ...]:
        """The candidate cut layers: given, the scenario's, or all that the scheme can use."""
        from tiercut.plan.problem import all_cuts

        if given is not None:
            return parse_layers(given)
        if self.scenario is not None and self.scenario.plan.cuts is not None:
            return self.scenario.plan.cuts
        return all_cuts(self.work.profile.depth, scheme, self.client_layers)


def read_inputs(
    scenario: Path | None,
    fleet: Path | None,
    profile: str | None,
    *,
    batch: int | None = None,
    epochs: int | None = None,
    cost: str | None = None,
    client_layers: int | None = None,
    planned: PlanFile | None = None,
) -> Inputs:
    """The values that a verb's options stand for; a plan's own win over the scenario's."""
    from tiercut.cost import Workload
    from tiercut.fleet import build_fleet, check_portions, read_fleet
    from tiercut.scenario import PlanSection, TrainingSection, read_scenario
    from tiercut.seeds import Seeds

    if scenario is None and (fleet is None or profile is None):
        raise InputError("give a scenario file, or both --fleet and --profile")
    read = None if scenario is None else read_scenario(scenario)
    training = TrainingSection() if read is None else read.training
    if profile is not None:
        model = load_profile(profile)
    else:
        assert read is not None
        model = scenario_profile(read.model)
    if fleet is not None:
        devices = read_fleet(fleet)
    else:
        assert read is not None
        devices = build_fleet(read.fleet, Seeds(read.seed))
    usual = planned if planned is not None else training
    plans = planned if planned is not None else read.plan if read else PlanSection()
    work = replace(
        Workload.under(usual, model),
        batch=given(batch, usual.batch),
        epochs=given(epochs, usual.epochs),
    )
    check_portions(devices.names, devices.examples.tolist(), work.portions)
    kept = given(client_layers, plans.client_layers)
    return Inputs(read, devices, work, cost_model(given(cost, plans.cost)), kept)


T = TypeVar("T")


def given(option: T | None, otherwise: T) -> T:
    """An option's value, or what holds where it was not given; 0 is a value, and refused later."""
    return otherwise if option is None else option


def cost_model(name: str) -> CostModel:
    """The cost model called `name`."""
    from tiercut.errors import nearest
    from tiercut.scenario import CostModel

    valid: tuple[CostModel, ...] = get_args(CostModel)
    for model in valid:
        if model == name:
            return model
    raise InputError(
        f"there is no cost model {name!r}{nearest(name, valid)}; expected {' or '.join(valid)}"
    )


def load_profile(name_or_path: str) -> Profile:
    """A profile file, or the shipped profile of that name."""
    from tiercut.models.profile import read_profile, shipped_profile

    path = Path(name_or_path)
    if not path.exists() and path.suffix == "":
        return shipped_profile(name_or_path)
    return read_profile(path)


def scenario_profile(section: ModelSection) -> Profile:
    """The profile of a scenario's model; only a user's own model has to be traced for it."""
    from tiercut.models.profile import SHIPPED, read_profile, shipped_profile

    if section.profile is not None:
        return read_profile(section.profile)
    if section.name in SHIPPED:
        return shipped_profile(section.name)
    from tiercut.models.trace import trace
    from tiercut.models.zoo import build_model

    return trace(build_model(section.name, input_shape=section.input_shape))


MOST_LAYERS = 10_000


def parse_layers(text: str) -> tuple[int, ...]:
    """Layers such as "7,8" or "3-8"."""
    layers: list[int] = []
    try:
        for part in text.split(","):
            first, dash, last = part.strip().partition("-")
            run = range(int(first), int(last) + 1) if dash else range(int(first), int(first) + 1)
            if len(run) > MOST_LAYERS:
                raise InputError(f"{text!r} names {len(run)} layers; no model has as many")
            layers.extend(run)
    except ValueError:
        raise InputError(f"{text!r} is no list of layers; write '7,8' or '3-8'") from None
    return tuple(dict.fromkeys(layers))


def parse_shape(text: str | None) -> tuple[int, ...] | None:
    """An input shape such as "3x32x32"."""
    if text is None:
        return None
    try:
        return tuple(int(size) for size in text.lower().split("x"))
    except ValueError:
        raise InputError(f"{text!r} is no input shape; write it like '3x32x32'") from None


def check_svg(path: Path | None) -> None:
    """Refuse to write an SVG picture into a file that is called something else."""
    if path is not None and path.suffix.lower() != ".svg":
        raise InputError(f"{path}: this picture is an SVG; give it a name that ends in .svg")


def deliver(text: str, output: Path | None) -> None:
    """Write a result to its file, or print it."""
    from tiercut.documents import write_text

    if output is None:
        typer.echo(text, nl=not text.endswith("\n"))
    else:
        write_text(output, text)
        typer.echo(f"wrote {output}", err=True)
