"""The optimiser every replica trains with, as a value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import nn


@dataclass(frozen=True)
class Optimiser:
    """SGD or Adam, as torch defines them; weight decay is an L2 penalty in both."""

    kind: Literal["sgd", "adam"] = "adam"
    rate: float = 1e-4
    momentum: float = 0.0
    weight_decay: float = 0.0

    @property
    def moments(self) -> tuple[str, ...]:
        """The names of the tensors it keeps for each parameter, as torch calls them."""
        if self.kind == "adam":
            return ("exp_avg", "exp_avg_sq")
        return ("momentum_buffer",) if self.momentum else ()

    def build(
        self, parameters: Iterable[nn.Parameter], *, fused: bool = False, captured: bool = False
    ) -> torch.optim.Optimizer:
        """Torch's own optimiser for these parameters; `captured` in a CUDA graph or not."""
        if self.kind == "adam":
            return torch.optim.Adam(
                parameters,
                lr=self.rate,
                weight_decay=self.weight_decay,
                fused=fused,
                capturable=captured,
            )
        return torch.optim.SGD(
            parameters,
            lr=self.rate,
            momentum=self.momentum,
            weight_decay=self.weight_decay,
            fused=fused,
        )
