"""Executor `folded`: on a GPU, one computation trains all rows of a bucket, clients as channels."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from tiercut.engines.chains import HEAD
from tiercut.engines.executor import Bucket, Settings
from tiercut.engines.feed import Feed
from tiercut.engines.folded import Chain, Clock, FoldedStep, Sharing, fold
from tiercut.engines.stack import COUNT


class Folded:
    """Trains the rows of a bucket with one step for all."""

    channels_last = False
    shares = True

    def __init__(self, bucket: Bucket, settings: Settings, _: dict[str, Tensor]) -> None:
        self.bucket = bucket
        here = slice(bucket.first, bucket.last)
        stack, chains = bucket.stack, bucket.chains
        front = OrderedDict(chains.front.named_children())
        layers = len(front)
        if chains.head is not None:
            front[f"{HEAD}{bucket.cut}"] = chains.head
        modules = [nn.Sequential(front)] + ([] if chains.back is None else [chains.back])
        self._clock = Clock(stack.keys[here], stack.steps[here])
        self._clients = torch.from_numpy(bucket.clients).to(stack.device)
        self._step = FoldedStep(
            [_chain(bucket, module) for module in modules],
            bucket.optimiser,
            image_shape=stack.task.model.input_shape,
            batch=stack.task.batch,
            precision=settings.precision,
            tap=layers if chains.back is not None else None,
            clock=self._clock,
            sharing=_sharing(bucket),
        )
        self._captured = stack.device.type != "cuda"

    def train(self, feed: Feed, batches: range, present: NDArray[np.bool_]) -> None:
        """See Executor."""
        if not self._captured:
            self._step.capture()
            self._captured = True
        self._step.refresh()
        sizes = feed.sizes[self.bucket.clients][:, batches.start : batches.stop] * present[:, None]
        on_device = torch.from_numpy(sizes.astype(np.int32).T.copy()).to(self._clients.device)
        for batch, size in zip(batches, on_device, strict=True):
            images, labels = feed.all(self._clients, batch)
            self._step(fold(images), labels, size)
            self._clock.steps.add_(size > 0)

    def take_losses(self) -> tuple[float, float]:
        """See Executor."""
        sums = self._step.losses.double().sum(0).tolist()
        self._step.losses.zero_()
        return (sums[0] if len(sums) > 1 else 0.0), sums[-1]


def _sharing(bucket: Bucket) -> Sharing | None:
    """The groups of the shared layers, each counted from 0."""
    if not bucket.shared:
        return None
    numbers = {layer: np.unique(h, return_inverse=True)[1] for layer, h in bucket.shared.items()}
    device = bucket.stack.device
    return Sharing({layer: torch.from_numpy(n).to(device) for layer, n in numbers.items()})


def _chain(bucket: Bucket, module: nn.Module) -> Chain:
    """A chain with its rows of the stack."""
    here, stack = slice(bucket.first, bucket.last), bucket.stack
    keys = [key for key, _ in module.named_parameters()]
    return Chain(
        module,
        parameters={key: stack.weights[key][here] for key in keys},
        buffers={key: stack.weights[key][here] for key, _ in module.named_buffers()},
        moments={
            moment: {key: stack.moments[key][moment][here] for key in keys}
            for moment in bucket.optimiser.moments
        },
        steps={key: stack.moments[key][COUNT][here] for key in keys},
    )
