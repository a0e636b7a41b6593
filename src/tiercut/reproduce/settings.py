"""The paper's four settings: a scenario file each, and the ways in which its tables vary them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tiercut.cost import Workload, scheme_named
from tiercut.errors import InputError
from tiercut.fleet import sample_fleet
from tiercut.models.profile import shipped_profile
from tiercut.plan.problem import Problem, all_cuts
from tiercut.scenario import Scenario, read_scenario
from tiercut.seeds import Seeds

TITLES = {"alexnet": "AlexNet", "vgg11": "VGG-11", "vgg19": "VGG-19", "resnet101": "ResNet-101"}

TRAINING_IMAGES = {"alexnet": 60_000, "vgg11": 50_000, "vgg19": 50_000, "resnet101": 90_000}
"""MNIST, CIFAR-10 (twice) and CINIC-10: the data that the clients share out evenly."""


@dataclass(frozen=True)
class Setting:
    """A model, its fleet and its candidate cuts, as in one scenario file."""

    model: str
    scenario: Scenario

    @property
    def title(self) -> str:
        """The model's name as the paper writes it."""
        return TITLES[self.model]

    @property
    def clients(self) -> int:
        """N."""
        return self.scenario.fleet.clients

    def with_fleet(self, **changes: Any) -> Setting:
        """The same setting with other keys in the scenario's fleet section."""
        fleet = self.scenario.fleet.model_copy(update=changes)
        return replace(self, scenario=self.scenario.model_copy(update={"fleet": fleet}))

    def with_clients(self, clients: int) -> Setting:
        """The same data shared out among so many clients."""
        return self.with_fleet(clients=clients, examples=TRAINING_IMAGES[self.model] // clients)

    def with_all_cuts(self) -> Setting:
        """The same setting with every cut layer a candidate."""
        plan = self.scenario.plan.model_copy(update={"cuts": None})
        return replace(self, scenario=self.scenario.model_copy(update={"plan": plan}))

    def problem(self, seed: int) -> Problem:
        """The planning problem on the fleet drawn with `seed`."""
        scenario, aa = self.scenario, scheme_named("aa-hsfl-ll")
        profile, kept = shipped_profile(scenario.model.name), scenario.plan.client_layers
        return Problem(
            sample_fleet(scenario.fleet, Seeds(seed)),
            Workload.under(scenario.training, profile),
            scenario.plan.cuts or all_cuts(profile.depth, aa, kept),
            scenario.plan.cost,
            client_layers=kept,
        )


Settings = dict[str, Setting]


def read_settings(folder: Path) -> Settings:
    """The paper's settings from the scenario files in `folder`, by model."""
    return {model: Setting(model, _read(folder / f"paper-{model}.toml")) for model in TITLES}


def _read(path: Path) -> Scenario:
    if not path.exists():
        raise InputError(
            f"{path}: there is no such file, and the paper's tables are made from it; run this in"
            f" a checkout of tiercut, or say where its scenarios are with --scenarios DIR"
        )
    return read_scenario(path)
