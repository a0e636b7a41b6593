"""What is compared: manifest.json of a comparison."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from tiercut.documents import Document, check, check_version, read_json
from tiercut.errors import InputError
from tiercut.scenario import Scenario

Own = Mapping[str, Any]
"""What a scheme has of its own, by key of the scenario, such as training.rate."""


class Manifest(Document):
    """The schemes and seeds of a comparison, and what all of them have in common."""

    version: int = 1
    tiercut: str
    torch: str
    python: str
    device: str
    command: tuple[str, ...] = Field(strict=False)
    scenario: Scenario
    """As read, with the options in it."""
    schemes: tuple[str, ...] = Field(strict=False, min_length=1)
    """Their names, which are those of their folders."""
    titles: dict[str, str]
    seeds: tuple[int, ...] = Field(strict=False, min_length=1)
    clients: int = Field(ge=1)
    overrides: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """By scheme: keys of the scenario, such as training.rate, that differ for it alone."""
    fixed: str | None = None
    """Where h, v and lambda of HSFL-ll come from."""
    targets: tuple[float, ...] | None = Field(default=None, strict=False)
    """Accuracies that were asked for; None where they follow from the results."""

    until: float | None = None
    """The accuracy with which a run is over before it has all its rounds."""

    def rounds_of(self, scheme: str) -> int:
        """How many rounds a scheme is to train."""
        own = self.overrides.get(scheme, {})
        return int(own.get("training.rounds", self.scenario.training.rounds))


def manifest_path(folder: Path) -> Path:
    """Where the manifest of a comparison is."""
    return folder / "manifest.json"


def read_manifest(folder: Path) -> Manifest:
    """The manifest in the folder of a comparison."""
    path = manifest_path(folder)
    if not path.exists():
        raise InputError(
            f"{folder}: there is no comparison here; make one with `tiercut compare SCENARIO -o"
            f" {folder}`"
        )
    data = read_json(path)
    check_version(data, str(path), "manifest")
    if "schemes" not in data:
        raise InputError(
            f"{path}: this is no comparison's manifest; give the folder that `tiercut compare`"
            f" wrote, or another one"
        )
    return check(Manifest, data, str(path))
