"""What a folded chain does, one instruction after the other, over numbered values."""

from __future__ import annotations

from dataclasses import dataclass

from tiercut.engines.folded.geometry import Geometry


@dataclass(frozen=True)
class Instruction:
    """Reads `inputs`, writes `output`; values are numbered, and value 0 is the chain's input."""

    inputs: tuple[int, ...]
    output: int


@dataclass(frozen=True)
class Convolve(Instruction):
    """A convolution or linear layer without its bias."""

    layer: str
    geometry: Geometry


@dataclass(frozen=True)
class Tail(Instruction):
    """Bias, BatchNorm, residual (a second input), ReLU, 2x2 max-pool: those that are there.

    `around` names the 1x1 convolution, by its output, whose input is the residual: the residual
    goes around it, and their gradients can be added within it.
    """

    bias: str | None = None
    norm: str | None = None
    residual: bool = False
    relu: bool = False
    pool: bool = False
    around: int | None = None

    @property
    def parts(self) -> tuple[bool, ...]:
        """Which parts are there, in the order in which a tail runs them."""
        return self.bias is not None, self.norm is not None, self.residual, self.relu, self.pool


@dataclass(frozen=True)
class MaxPool(Instruction):
    """Any max-pool that no tail can take."""

    layer: str


@dataclass(frozen=True)
class Average(Instruction):
    """The mean over all positions."""


@dataclass(frozen=True)
class Flatten(Instruction):
    """Positions become channels, in the order of an unfolded flatten."""


@dataclass(frozen=True)
class Dropout(Instruction):
    """Multiply by the mask of the dropout layer called `layer`."""

    layer: str
    p: float


@dataclass(frozen=True)
class Journey(Instruction):
    """Activations travel, as the module called `layer` says."""

    layer: str


@dataclass(frozen=True)
class Plan:
    """Instructions in order; `result` is the chain's output, `tap` what the next chain reads."""

    instructions: tuple[Instruction, ...]
    result: int
    tap: int | None = None
