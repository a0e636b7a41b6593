"""One training step of N replicas at once, clients folded into channels.

Activations are [B, H, W, N, C]: all clients' channels lie side by side, so that one kernel serves
every client. The loss is the sum over clients of each one's own mean, so that one backward pass
gives every client exactly its own gradient.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import torch
from torch import Tensor

from tiercut.engines.folded import stock
from tiercut.engines.folded.chain import Chain, Clock, Runner
from tiercut.engines.folded.launch import compiling
from tiercut.engines.folded.precision import PRECISIONS, rounding
from tiercut.engines.folded.sharing import Sharing
from tiercut.engines.folded.update import debias, update_fused, update_stock
from tiercut.engines.optimiser import Optimiser


class FoldedStep:
    """A step over fixed buffers: fill `images`, `labels` and `sizes`, then call it.

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
        sharing: Sharing | None = None,
    ) -> None:
        """Prepare a step of one chain, or of two of which the second reads the first's `tap`.

        `tap` counts the first chain's layers that the second stands on.
        """
        some = next(iter(chains[0].parameters.values()))
        count, device = some.shape[0], some.device
        self.precision = PRECISIONS[precision]
        self.optimiser, self._sharing = optimiser, sharing
        taps = (tap, *[None] * (len(chains) - 1))
        self._runners = [
            Runner(chain, self.precision, clock, at) for chain, at in zip(chains, taps, strict=True)
        ]
        channels, height, width = (*image_shape, 1, 1)[:3]
        shape = (batch, height, width, count, channels)
        wide = torch.promote_types(self.precision.dtype, torch.float32)
        self.images = torch.zeros(shape, dtype=self.precision.dtype, device=device)
        self.labels = torch.zeros(count, batch, dtype=torch.int64, device=device)
        self.sizes = torch.zeros(count, dtype=torch.int32, device=device)
        self.losses = torch.zeros(count, len(chains), dtype=wide, device=device)
        self.rate = torch.full((1,), optimiser.rate, dtype=wide, device=device)
        counts = [(name, steps) for chain in chains for name, steps in chain.steps.items()]
        unique = {steps.data_ptr(): (name, steps) for name, steps in counts}
        self._counted = [name for name, _ in unique.values()]
        self._counts = [steps for _, steps in unique.values()]
        self._graph: torch.cuda.CUDAGraph | None = None

    def __call__(
        self,
        images: Tensor | None = None,
        labels: Tensor | None = None,
        sizes: Tensor | None = None,
    ) -> None:
        """Train on the buffers, after copying what is given into them."""
        given = ((self.images, images), (self.labels, labels), (self.sizes, sizes))
        for buffer, values in given:
            if values is not None and values is not buffer:
                buffer.copy_(values)
        if self._graph is None:
            self._run()
        else:  # pragma: no cover (needs a GPU)
            self._graph.replay()

    def refresh(self) -> None:
        """Call this after changing parameters from outside, such as by averaging them."""
        for runner in self._runners:
            runner.refresh()

    def capture(self) -> None:  # pragma: no cover (needs a GPU)
        """Record the step as one CUDA graph, to be replayed by every later call.

        Compiling and warming up run on a batch of no samples, which changes nothing.
        """
        self.compile()
        kept = self.sizes.clone()
        self.sizes.zero_()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self._run()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._run()
        self._graph = graph
        self.sizes.copy_(kept)

    def compile(self) -> None:  # pragma: no cover (needs a GPU)
        """Compile all kernels in parallel; without this each waits for the one before it."""
        if self.precision.kernels:
            kept = self.sizes.clone()
            self.sizes.zero_()
            with compiling(os.cpu_count() or 1):
                self._run()
            self.sizes.copy_(kept)

    def _run(self) -> None:
        divisors: dict[int, Tensor] = {}
        if self.optimiser.kind == "adam":
            all_divisors = debias(torch.stack(self._counts), self.rate.dtype)
            divisors = {
                steps.data_ptr(): each
                for steps, each in zip(self._counts, all_divisors, strict=True)
            }
        values = self.images
        if self._sharing is not None:
            self._sharing.prepare(self.sizes, self.rate.dtype)
        with rounding(self.precision):
            for position, runner in enumerate(self._runners):
                gradients, tap = self._gradients(position, runner, values)
                for name, gradient in gradients.items():
                    self._update(runner, name, gradient, divisors)
                if tap is not None:
                    values = tap.detach()
        if self._sharing is not None:
            for runner in self._runners:
                buffers = runner.chain.buffers.items()
                self._sharing.spread((k, v) for k, v in buffers if self._sharing.covers(k))
        if self._counts:
            like = self._counts[0].dtype
            steps = [(self._moving(name) > 0).to(like) for name in self._counted]
            torch._foreach_add_(self._counts, steps)

    def _moving(self, name: str) -> Tensor:
        """Whom an update of this parameter moves: clients with samples here or on their host."""
        if self._sharing is not None and self._sharing.covers(name):
            return self._sharing.moving(name)
        return self.sizes

    def _gradients(
        self, position: int, runner: Runner, values: Tensor
    ) -> tuple[dict[str, Tensor], Tensor | None]:
        with torch.enable_grad():
            scores, tap = runner.forward(values, self.sizes)
            losses = stock.losses(scores, self.labels, self.sizes)
            total = (losses.sum(0) / self.sizes.clamp(min=1)).sum()
        self.losses[:, position] += losses.detach().sum(0)
        names = list(runner.leaves)
        gradients = torch.autograd.grad(total, [runner.leaves[name] for name in names])
        return dict(zip(names, gradients, strict=True)), tap

    def _update(
        self, runner: Runner, name: str, gradient: Tensor, divisors: dict[int, Tensor]
    ) -> None:
        chain = runner.chain
        moments = [chain.moments[moment][name] for moment in self.optimiser.moments]
        divisor = divisors[chain.steps[name].data_ptr()] if divisors else None
        parameter, moving = chain.parameters[name], self._moving(name)
        shadow = runner.shadows.get(name)
        if shadow is not None:
            gradient = runner.packed(name, gradient)
        gradient = gradient.contiguous()
        if self._sharing is not None and self._sharing.covers(name):
            gradient = self._sharing.mean(name, gradient)
        if not self.precision.kernels:
            update_stock(parameter, gradient, moments, divisor, moving, self.rate, self.optimiser)
            return
        update_fused(
            parameter, gradient, moments, divisor, shadow, moving, self.rate, self.optimiser
        )
