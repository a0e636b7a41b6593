"""How good models are on samples they were not trained on."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from queue import SimpleQueue

import torch
from torch import Tensor
from torch.func import functional_call
from torch.nn import functional

from tiercut.engines.cores import spread
from tiercut.engines.executor import Settings
from tiercut.engines.feed import Normal
from tiercut.engines.layout import channels_last
from tiercut.engines.task import Brief, Examples
from tiercut.models.layered import LayeredModel

BATCH = 500
"""Samples at a time: enough to keep a device busy, few enough for its memory."""


@dataclass(frozen=True)
class Score:
    """What a model reached: the share of samples it got right, and its mean loss."""

    accuracy: float
    loss: float


class Judge:
    """Measures models of a task on the same samples, again and again."""

    def __init__(self, task: Brief, examples: Examples, settings: Settings) -> None:
        self._settings = settings
        device, dtype = settings.device, settings.dtype
        model = copy.deepcopy(task.model).to(device, dtype).eval()
        self._keys = [key.removeprefix("layers.") for key in model.state_dict()]
        self._threads = settings.threads if device.type == "cpu" else 1
        # A module takes in weights by changing itself, so that threads need one each.
        self._idle: SimpleQueue[LayeredModel] = SimpleQueue()
        for _ in range(self._threads):
            self._idle.put(copy.deepcopy(model))
        self._images = torch.tensor(examples.images, device=device)
        self._labels = torch.tensor(examples.labels, device=device)
        self._normal = Normal(examples, device, dtype)

    def score(self, weights: Mapping[str, Tensor]) -> Score:
        """Measure one model, whose weights are called as in its state_dict."""
        starts = range(0, len(self._labels), BATCH)
        work = range(len(starts))
        sums = spread(lambda i: self._batch(weights, starts[i]), work, self._threads)
        right, loss = torch.stack(sums).sum(0).tolist()
        return Score(right / len(self._labels), loss / len(self._labels))

    def score_rows(self, stack: Mapping[str, Tensor], rows: Sequence[int]) -> list[Score]:
        """Measure every replica in a stack, whose weights lack the model's prefix."""
        return [self.score({f"layers.{k}": stack[k][row] for k in self._keys}) for row in rows]

    @torch.no_grad()
    def _batch(self, weights: Mapping[str, Tensor], start: int) -> Tensor:
        here = slice(start, start + BATCH)
        labels = self._labels[here]
        kind, lower = self._settings.device.type, self._settings.autocast
        model = self._idle.get()
        with torch.autocast(kind, dtype=lower or torch.bfloat16, enabled=lower is not None):
            images = channels_last(self._normal(self._images[here]))
            scores = functional_call(model, dict(weights), (images,)).double()
        self._idle.put(model)
        right = (scores.argmax(1) == labels).sum()
        return torch.stack([right.double(), functional.cross_entropy(scores, labels) * len(labels)])
