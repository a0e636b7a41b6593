"""One training step of N replicas at once, clients folded into channels.

Activations are [B, H, W, N, C]: all clients' channels lie side by side, so that one kernel serves
every client. The loss is the sum over clients of each one's own mean, so that one backward pass
gives every client exactly its own gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from tiercut.engines.folded import stock
from tiercut.engines.folded.chain import Chain, Clock, Runner
from tiercut.engines.folded.precision import PRECISIONS, rounding
from tiercut.engines.folded.travel import arrived
from tiercut.engines.folded.update import Models, debias, update_fused, update_stock
from tiercut.engines.optimiser import Optimiser
from tiercut.scenario import Wire


class FoldedStep:
    """The parts of a step over fixed buffers; Together runs them (see together.py).

    Attributes:
        images: the batch, [B, H, W, N, C] in the step's own type; padding must be finite.
        labels: [N, B] int64; padding may be any class.
        sizes: [N] int32, how many samples of the batch each client has; one with none sits out.
        losses: [N, chains] float32 (or wider), summed over samples and steps until set to zero.
        rate: the learning rate, a tensor of one value that may change between steps.

    """

    def __init__(
        self,
        chains: Sequence[Chain],
        optimiser: Optimiser,
        *,
        image_shape: Sequence[int],
        batch: int,
        precision: str = "bf16",
        tap: int | None = None,
        clock: Clock | None = None,
        wire: Wire = "fp32",
        seen: Sequence[int] | None = None,
    ) -> None:
        """Prepare a step of one chain, or of two of which the second reads the first's `tap`.

        `tap` counts the first chain's layers that the second stands on; what it reads of them has
        travelled by `wire`, and is the first `seen[size]` samples of a batch of so many, or all.
        """
        some = next(iter(chains[0].parameters.values()))
        count, device = some.shape[0], some.device
        self.chains, self.optimiser, self._wire = chains, optimiser, wire
        self.precision = PRECISIONS[precision]
        taps = (tap, *[None] * (len(chains) - 1))
        self._runners = [
            Runner(chain, self.precision, clock, at, images=position == 0)
            for position, (chain, at) in enumerate(zip(chains, taps, strict=True))
        ]
        channels, height, width = (*image_shape, 1, 1)[:3]
        shape = (batch, height, width, count, channels)
        wide = torch.promote_types(self.precision.dtype, torch.float32)
        self.images = torch.zeros(shape, dtype=self.precision.dtype, device=device)
        self.labels = torch.zeros(count, batch, dtype=torch.int64, device=device)
        self.sizes = torch.zeros(count, dtype=torch.int32, device=device)
        self._seen = None if seen is None else torch.tensor(seen, dtype=torch.int32, device=device)
        self._most_seen = batch if seen is None else max(seen)
        self.losses = torch.zeros(count, len(chains), dtype=wide, device=device)
        self.rate = torch.full((1,), optimiser.rate, dtype=wide, device=device)
        counts = [(name, steps) for chain in chains for name, steps in chain.steps.items()]
        unique = {steps.data_ptr(): (name, steps) for name, steps in counts}
        self._counted = [name for name, _ in unique.values()]
        self._counts = [steps for _, steps in unique.values()]

    def fill(self, images: Tensor, labels: Tensor, sizes: Tensor) -> None:
        """Copy a batch into the buffers."""
        self.images.copy_(images)
        self.labels.copy_(labels)
        self.sizes.copy_(sizes)

    def sizes_in(self, position: int) -> Tensor:
        """How many samples of the batch each client has in one of the chains."""
        if position == 0 or self._seen is None:
            return self.sizes
        return self._seen[self.sizes]

    def refresh(self) -> None:
        """Call this after changing parameters from outside, such as by averaging them."""
        for runner in self._runners:
            runner.refresh()

    def divisors(self) -> dict[int, Tensor]:
        """What Adam divides its moments by in this step, for every counter of steps."""
        if self.optimiser.kind != "adam":
            return {}
        all_divisors = debias(torch.stack(self._counts), self.rate.dtype)
        return {
            steps.data_ptr(): each for steps, each in zip(self._counts, all_divisors, strict=True)
        }

    def learn(self, position: int, values: Tensor) -> tuple[dict[str, Tensor], Tensor]:
        """Every client's gradients in one chain, as `update` takes them, and the next one's input.

        A parameter's gradient lies in the order of its shadow, if it has one.
        """
        runner = self._runners[position]
        with rounding(self.precision):
            gradients, tap = self._gradients(position, runner, values)
        for name, gradient in gradients.items():
            order = runner.packed(name, gradient) if name in runner.shadows else gradient
            gradients[name] = order.contiguous()
        if tap is None:
            return gradients, values
        sent = tap.detach()[: self._most_seen]
        return gradients, arrived(sent, self._wire, kernels=self.precision.kernels)

    def update(
        self,
        position: int,
        name: str,
        gradient: Tensor,
        moving: Tensor,
        divisors: dict[int, Tensor],
        models: Models | None = None,
    ) -> None:
        """One step of a parameter, for the clients that are `moving`: where it is not 0, `[N]`.

        There is a gradient for every client, or for every one of the `models` that they share.
        """
        runner, chain = self._runners[position], self.chains[position]
        moments = [chain.moments[moment][name] for moment in self.optimiser.moments]
        divisor = divisors[chain.steps[name].data_ptr()] if divisors else None
        parameter = chain.parameters[name]
        if not self.precision.kernels:
            gradient = gradient if models is None else gradient[models.group]
            update_stock(parameter, gradient, moments, divisor, moving, self.rate, self.optimiser)
            return
        shadow = runner.shadows.get(name)
        update_fused(
            parameter, gradient, moments, divisor, shadow, moving, self.rate, self.optimiser, models
        )

    def left_behind(self) -> Iterator[tuple[str, Tensor]]:
        """What an update of shared models leaves to be handed on, by parameter."""
        for runner, chain in zip(self._runners, self.chains, strict=True):
            for name in runner.shadows:
                yield name, chain.parameters[name]
                for moment in self.optimiser.moments:
                    yield name, chain.moments[moment][name]

    def count(self, moving: Callable[[str], Tensor]) -> None:
        """Count the step for every parameter, for the clients that moved in it."""
        if self._counts:
            like = self._counts[0].dtype
            those = [moving(name) for name in self._counted]
            # Most parameters move the same clients: what is compared once need not be again.
            moved = {id(each): (each > 0).to(like) for each in {id(t): t for t in those}.values()}
            torch._foreach_add_(self._counts, [moved[id(each)] for each in those])

    def _gradients(
        self, position: int, runner: Runner, values: Tensor
    ) -> tuple[dict[str, Tensor], Tensor | None]:
        with torch.enable_grad():
            sizes, labels = self.sizes_in(position), self.labels[:, : len(values)]
            scores, tap = runner.forward(values, sizes)
            losses = stock.losses(scores, labels, sizes)
            total = (losses.sum(0) / sizes.clamp(min=1)).sum()
        self.losses[:, position] += losses.detach().sum(0)
        names = list(runner.leaves)
        gradients = torch.autograd.grad(total, [runner.leaves[name] for name in names])
        return dict(zip(names, gradients, strict=True)), tap
