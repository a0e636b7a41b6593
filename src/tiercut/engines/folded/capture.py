"""Work over fixed buffers, recorded once and then replayed: one launch instead of hundreds."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from tiercut.engines.folded.launch import compiling


class Captured:
    """Runs `_run`, which must change nothing where nobody has samples, or replays it."""

    def __init__(self, sizes: Sequence[Tensor], *, kernels: bool) -> None:
        """`sizes` are the samples of every client, as `_run` reads them."""
        self._all_sizes, self._kernels = sizes, kernels
        self._graph: torch.cuda.CUDAGraph | None = None

    def _run(self) -> None:
        raise NotImplementedError

    def run(self) -> None:
        """Train on the buffers as they are."""
        if self._graph is None:
            self._run()
        else:  # pragma: no cover (needs a GPU)
            self._graph.replay()

    def capture(self) -> None:  # pragma: no cover (needs a GPU)
        """Record the step as one CUDA graph, to be replayed by every later call.

        Compiling and warming up run on a batch of no samples, which changes nothing.
        """
        self.compile()
        with self._without_samples():
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                self._run()
            torch.cuda.current_stream().wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self._run()
        self._graph = graph

    def compile(self) -> None:  # pragma: no cover (needs a GPU)
        """Compile all kernels in parallel; without this each waits for the one before it."""
        if self._kernels:
            with self._without_samples(), compiling(os.cpu_count() or 1):
                self._run()

    @contextmanager
    def _without_samples(self) -> Iterator[None]:  # pragma: no cover (needs a GPU)
        kept = [sizes.clone() for sizes in self._all_sizes]
        for sizes in self._all_sizes:
            sizes.zero_()
        yield
        for sizes, before in zip(self._all_sizes, kept, strict=True):
            sizes.copy_(before)
