"""The optimiser's update of stacked parameters: only clients that took part in the batch change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from tiercut.engines.folded.blocks import power
from tiercut.engines.folded.launch import launch
from tiercut.engines.optimiser import Optimiser

BETAS = (0.9, 0.999)
EPS = 1e-8
"""Adam's constants, as torch has them by default."""

TILE, WARPS = 1024, 4
"""Values that one program updates, and its warps."""


@dataclass(frozen=True, eq=False)
class Models:
    """Models that several clients of a step have as one.

    Attributes:
        group: the number of each client's model, `[N]`.
        members: the clients, model by model, `[N]`.
        starts: where each model's are in `members`, and at last its end.
        first: for each client the first of its model's, `[N]`.

    """

    group: Tensor
    members: Tensor
    starts: Tensor
    first: Tensor

    @classmethod
    def of(cls, group: Tensor, count: int) -> Models:
        """`count` models, of which some may have no client here."""
        sizes = torch.bincount(group, minlength=count)
        starts = functional.pad(sizes.cumsum(0), (1, 0)).to(torch.int32)
        members = group.argsort(stable=True)
        return cls(group, members.to(torch.int32), starts, members[starts[group].long()])

    def hand_on(self, values: Tensor) -> None:
        """Give all clients of a model what its first one has."""
        values.copy_(values[self.first])


def debias(steps: Tensor, dtype: torch.dtype) -> Tensor:
    """[..., N, 2]: what Adam divides its moments by in the step after `steps`, [..., N]."""
    # Powers of plain numbers: a tensor made from numbers could not be captured in a graph.
    taken = (steps + 1).double()
    return torch.stack([1 - torch.pow(beta, taken) for beta in BETAS], dim=-1).to(dtype)


@torch.no_grad()
def update_stock(
    parameter: Tensor,
    gradient: Tensor,
    moments: Sequence[Tensor],
    divisors: Tensor | None,
    sizes: Tensor,
    rate: Tensor,
    optimiser: Optimiser,
) -> None:
    """Update in plain PyTorch."""
    one_each = (-1, *[1] * (parameter.dim() - 1))
    active = (sizes > 0).view(one_each)
    change = gradient + optimiser.weight_decay * parameter
    if optimiser.kind == "adam" and divisors is not None:
        first, second = moments
        first.copy_(torch.where(active, torch.lerp(change, first, BETAS[0]), first))
        moved = BETAS[1] * second + (1 - BETAS[1]) * change.square()
        second.copy_(torch.where(active, moved, second))
        root = (second / divisors[:, 1].view(one_each)).sqrt() + EPS
        change = first / divisors[:, 0].view(one_each) / root
    elif optimiser.momentum:
        (first,) = moments
        first.copy_(torch.where(active, optimiser.momentum * first + change, first))
        change = first
    parameter.sub_(torch.where(active, rate * change, 0))


def update_fused(
    parameter: Tensor,
    gradient: Tensor,
    moments: Sequence[Tensor],
    divisors: Tensor | None,
    shadow: Tensor | None,
    sizes: Tensor,
    rate: Tensor,
    optimiser: Optimiser,
    models: Models | None = None,
) -> None:
    """Update with one kernel, which writes the shadow too; `gradient` lies in its order.

    Where clients share `models`, there is a gradient for each of those instead of each client. All
    have the shadow of their model then, which is all that a step reads; parameter and moments, each
    twice its size, only the first client of a model has, until they are handed on.
    """
    from tiercut.engines.folded.kernels.update import update as kernel

    rows, taps, channels = parameter[0].numel(), 1, parameter[0].numel()
    if shadow is not None and shadow.shape[2] > 1:
        taps, channels = shadow.shape[2:]
        rows //= taps
    width = power(taps, 1, 1 << 16)
    height = power(rows, 1, TILE // width)
    kind = 2 if optimiser.kind == "adam" else int(optimiser.momentum > 0)
    launch(
        kernel,
        (-(-rows // height), gradient.shape[0]),
        parameter,
        gradient,
        moments[0] if moments else parameter,
        moments[1] if kind == 2 else parameter,
        shadow if shadow is not None else parameter,
        rate,
        divisors if divisors is not None else rate,
        sizes,
        models.starts if models is not None else sizes,
        models.members if models is not None else sizes,
        optimiser.momentum,
        optimiser.weight_decay,
        EPS,
        *BETAS,
        rows,
        taps,
        channels,
        kind,
        shadow is not None,
        models is not None,
        height,
        width,
        num_warps=WARPS,
    )
