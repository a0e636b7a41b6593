"""What each layer of a model costs: the profile file, as a checked, torch-free value.

All amounts are for one sample. Profiles of the shipped models come with the package, made by
`tiercut profile MODEL --json` and held equal to a fresh trace by the tests, so that planning never
has to load torch.
"""

from __future__ import annotations

from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PlainSerializer, model_validator

from tiercut.documents import Document, check, check_version, read_json
from tiercut.errors import InputError, nearest

SHIPPED = ("alexnet", "vgg11", "vgg19", "resnet101", "small")


def _shortest(amount: float) -> int | float:
    return int(amount) if amount.is_integer() else amount


Amount = Annotated[float, PlainSerializer(_shortest, when_used="json")]
"""FLOP or bytes: a float that files show without a fraction where it has none."""


class LayerCost(Document):
    """One layer: forward work, size of its weights, size of what it passes on, for one sample."""

    index: int = Field(ge=1)
    name: str
    flops: Amount = Field(ge=0)
    weight_bytes: Amount = Field(ge=0)
    activation_bytes: Amount = Field(gt=0)
    parameters: int = Field(ge=0)


class HeadCost(Document):
    """The auxiliary head that a local loss at one layer needs."""

    flops: Amount = Field(ge=0)
    weight_bytes: Amount = Field(ge=0)


class Profile(Document):
    """A model as the planner sees it. Layers count from 1 to L."""

    version: int = 1
    name: str
    parameters: int = Field(ge=0)
    layers: tuple[LayerCost, ...] = Field(min_length=2, strict=False)
    heads: tuple[HeadCost, ...] | None = Field(default=None, strict=False)

    @model_validator(mode="after")
    def _consistent(self) -> Profile:
        """Layers come in order, and heads, where given, one per layer."""
        for position, layer in enumerate(self.layers, start=1):
            if layer.index != position:
                raise ValueError(
                    f"layers[{position - 1}].index is {layer.index}; expected {position}"
                )
        if self.heads is not None and len(self.heads) != len(self.layers):
            raise ValueError(
                f"heads has {len(self.heads)} entries; expected one per layer, {len(self.layers)}"
            )
        return self

    @property
    def depth(self) -> int:
        """L, the number of layers."""
        return len(self.layers)

    @cached_property
    def flops(self) -> NDArray[np.float64]:
        """f_l of every layer, FLOP."""
        return np.array([layer.flops for layer in self.layers])

    @cached_property
    def weight_bytes(self) -> NDArray[np.float64]:
        """a_l of every layer, bytes."""
        return np.array([layer.weight_bytes for layer in self.layers])

    @cached_property
    def activation_bytes(self) -> NDArray[np.float64]:
        """g_l of every layer, bytes."""
        return np.array([layer.activation_bytes for layer in self.layers])

    def to_dict(self) -> dict[str, Any]:
        """Give the profile file's JSON object."""
        return self.model_dump(mode="json", exclude_none=True)


def read_profile(path: Path) -> Profile:
    """Read the profile in a file."""
    data = read_json(path)
    check_version(data, str(path), "profile")
    return check(Profile, data, str(path))


def shipped_profile(name: str) -> Profile:
    """Read the profile of a model that comes with tiercut."""
    if name not in SHIPPED:
        raise InputError(
            f"there is no shipped profile of {name!r}{nearest(name, SHIPPED)};"
            f" expected a profile file or one of {', '.join(SHIPPED)}"
        )
    with resources.as_file(resources.files("tiercut.models") / "profiles" / f"{name}.json") as path:
        return read_profile(path)
