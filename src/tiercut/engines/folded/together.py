"""Runs one step, or several as one where clients of several cuts share layers.

There is a step for every cut, and each has the gradients of its own clients only. All of them learn
before anybody's shared layer moves: by the mean over all. On a GPU the work is recorded once and
then replayed, one launch instead of hundreds.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

import torch
from torch import Tensor

from tiercut.engines.folded.launch import compiling
from tiercut.engines.folded.sharing import Sharing
from tiercut.engines.folded.step import FoldedStep


class Together:
    """Fill the steps' buffers and call `run`, batch after batch, and in the end `settle`.

    `groups` are those of each step (see Sharing).
    """

    def __init__(
        self, steps: Sequence[FoldedStep], groups: Sequence[Mapping[str, Tensor]] = ()
    ) -> None:
        self._steps, self._sharing = steps, Sharing(groups)
        self._graph: torch.cuda.CUDAGraph | None = None

    def run(self) -> None:
        """Train on the buffers as they are."""
        if self._graph is None:
            self._run()
        else:  # pragma: no cover (needs a GPU)
            self._graph.replay()

    def settle(self) -> None:
        """After the last of some batches: give every client the models that it shares."""
        for n, step in enumerate(self._steps):
            for name, values in step.left_behind():
                if self._sharing.covers(n, name):
                    self._sharing.models(n, name).hand_on(values)

    def capture(self) -> None:  # pragma: no cover (needs a GPU)
        """Record the work as one CUDA graph, to be replayed by every later call of `run`.

        Compiling and warming up run on a batch of no samples, which changes nothing.
        """
        self.compile()
        with self._without_samples():
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                self._run()
            torch.cuda.current_stream().wait_stream(side)
            torch.cuda.empty_cache()  # a graph has memory of its own, and cannot use this
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self._run()
        self._graph = graph

    def compile(self) -> None:  # pragma: no cover (needs a GPU)
        """Compile all kernels in parallel; without this each waits for the one before it."""
        if self._steps[0].precision.kernels:
            with self._without_samples(), compiling(os.cpu_count() or 1):
                self._run()

    @contextmanager
    def _without_samples(self) -> Iterator[None]:  # pragma: no cover (needs a GPU)
        kept = [step.sizes.clone() for step in self._steps]
        for step in self._steps:
            step.sizes.zero_()
        yield
        for step, sizes in zip(self._steps, kept, strict=True):
            step.sizes.copy_(sizes)

    def _run(self) -> None:
        steps, sharing = self._steps, self._sharing
        sharing.prepare(self._sizes, steps[0].rate.dtype)
        divisors = [step.divisors() for step in steps]
        values = [step.images for step in steps]
        # A host runs layers below the cuts of its clients or above them, never both, so that all
        # gradients it needs for a layer are there after the same chain.
        for position in range(len(steps[0].chains)):
            waiting: dict[str, dict[int, Tensor]] = {}
            for n, step in enumerate(steps):
                gradients, values[n] = step.learn(position, values[n])
                for name, gradient in gradients.items():
                    if sharing.covers(n, name):
                        waiting.setdefault(name, {})[n] = gradient
                    else:
                        step.update(position, name, gradient, step.sizes, divisors[n])
            for name, parts in waiting.items():
                mean = sharing.mean(name, parts)
                for n in parts:
                    moving, models = sharing.moving(n, name), sharing.models(n, name)
                    steps[n].update(position, name, mean, moving, divisors[n], models)
            self._spread_statistics(position)
        for n, step in enumerate(steps):
            step.count(partial(self._moving, n))

    def _sizes(self, n: int, layer: str) -> Tensor:
        """How many samples of the batch each client of a step has in a layer."""
        step = self._steps[n]
        position = next(
            position
            for position, chain in enumerate(step.chains)
            if layer in dict(chain.module.named_children())
        )
        return step.sizes_in(position)

    def _spread_statistics(self, position: int) -> None:
        buffers: dict[str, dict[int, Tensor]] = {}
        for n, step in enumerate(self._steps):
            for name, values in step.chains[position].buffers.items():
                if self._sharing.covers(n, name):
                    buffers.setdefault(name, {})[n] = values
        for name, parts in buffers.items():
            self._sharing.spread(name, parts)

    def _moving(self, n: int, name: str) -> Tensor:
        """Whom an update of this parameter moves: clients with samples here or on their host."""
        if self._sharing.covers(n, name):
            return self._sharing.moving(n, name)
        return self._steps[n].sizes
