"""Steps whose clients share layers, as one: all of them learn before anybody's shared layer moves.

There is a step for every cut. Clients of several cuts may share a layer, and then each step has the
gradients of its own clients only; what the layer moves by is the mean over all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from torch import Tensor

from tiercut.engines.folded.capture import Captured
from tiercut.engines.folded.sharing import Sharing
from tiercut.engines.folded.step import FoldedStep


class Together(Captured):
    """Fill the steps' buffers, then call `run`; `groups` are those of each step (see Sharing)."""

    def __init__(self, steps: Sequence[FoldedStep], groups: Sequence[Mapping[str, Tensor]]) -> None:
        self._steps, self._sharing = steps, Sharing(groups)
        super().__init__([step.sizes for step in steps], kernels=steps[0].precision.kernels)

    def _run(self) -> None:
        steps, sharing = self._steps, self._sharing
        sharing.prepare([step.sizes for step in steps], steps[0].rate.dtype)
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
                for n, mean in sharing.means(name, parts):
                    moving = sharing.moving(n, name)
                    steps[n].update(position, name, mean, moving, divisors[n])
            self._spread_statistics(position)
        for n, step in enumerate(steps):
            step.count(partial(self._moving, n))

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
