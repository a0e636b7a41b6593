"""Executor `folded`: on a GPU, one computation trains all rows of a bucket, clients as channels.

Buckets that share layers are trained together, as one computation for all of them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from tiercut.engines.chains import HEAD
from tiercut.engines.executor import Bucket, Settings
from tiercut.engines.feed import Feed
from tiercut.engines.folded import Chain, Clock, FoldedStep, Together, Travel, fold
from tiercut.engines.folded.precision import PRECISIONS
from tiercut.engines.stack import COUNT
from tiercut.scenario import Wire


class Folded:
    """Trains the rows of a bucket with one step for all."""

    channels_last = False
    shares = True

    def __init__(self, bucket: Bucket, settings: Settings, _: dict[str, Tensor]) -> None:
        self.bucket = bucket
        self._lane = Lane(bucket, settings.precision)
        self._course = Course([self._lane])

    def train(self, feed: Feed, batches: range, present: NDArray[np.bool_]) -> None:
        """See Executor."""
        self.train_with([], feed, batches, [present])

    def train_with(
        self,
        others: Sequence[Folded],
        feed: Feed,
        batches: range,
        present: Sequence[NDArray[np.bool_]],
    ) -> None:
        """See Joint."""
        lanes = [self._lane, *(other._lane for other in others)]
        if lanes != self._course.lanes:
            self._course = Course(lanes)
        self._course.train(feed, batches, present)

    def take_losses(self) -> tuple[float, float]:
        """See Executor."""
        losses = self._lane.step.losses
        sums = losses.double().sum(0).tolist()
        losses.zero_()
        return (sums[0] if len(sums) > 1 else 0.0), sums[-1]


class Lane:
    """A bucket's step over its rows of the stack."""

    def __init__(self, bucket: Bucket, precision: str) -> None:
        self.bucket = bucket
        here = slice(bucket.first, bucket.last)
        stack, chains = bucket.stack, bucket.chains
        # Training in bf16 computes nothing that a bf16 wire could not carry.
        wire: Wire = "fp32" if stack.task.wire == precision else stack.task.wire
        front = _front(bucket, wire, kernels=PRECISIONS[precision].kernels)
        layers = len(front)
        if chains.head is not None:
            front[f"{HEAD}{bucket.cut}"] = chains.head
        modules = [nn.Sequential(front)] + ([] if chains.back is None else [chains.back])
        self._clock = Clock(stack.keys[here], stack.steps[here])
        self._clients = torch.from_numpy(bucket.clients).to(stack.device)
        self.step = FoldedStep(
            [_chain(bucket, module) for module in modules],
            bucket.optimiser,
            image_shape=stack.task.model.input_shape,
            batch=stack.task.batch,
            precision=precision,
            tap=layers if chains.back is not None else None,
            clock=self._clock,
            wire=wire,
            seen=stack.task.seen.tolist(),
        )

    def sizes(self, feed: Feed, batches: range, present: NDArray[np.bool_]) -> Tensor:
        """Samples of every row in every batch, `[batches, rows]`."""
        sizes = feed.sizes[self.bucket.clients][:, batches.start : batches.stop] * present[:, None]
        return torch.from_numpy(sizes.astype(np.int32).T.copy()).to(self._clients.device)

    def fill(self, feed: Feed, batch: int, sizes: Tensor) -> None:
        """Put a batch where the step reads it."""
        images, labels = feed.all(self._clients, batch)
        self.step.fill(fold(images), labels, sizes)

    def tick(self) -> None:
        """Count the batch for those who had samples in it."""
        self._clock.steps.add_(self.step.sizes > 0)


class Course:
    """One lane, or several that run as one because rows of one share layers with rows of others."""

    def __init__(self, lanes: list[Lane]) -> None:
        self.lanes = lanes
        groups = _groups([lane.bucket for lane in lanes])
        self._step = Together([lane.step for lane in lanes], groups)
        self._captured = lanes[0].step.images.device.type != "cuda"

    def train(self, feed: Feed, batches: range, present: Sequence[NDArray[np.bool_]]) -> None:
        """Batch after batch for all lanes."""
        if not self._captured:
            self._step.capture()
            self._captured = True
        for lane in self.lanes:
            lane.step.refresh()
        here = zip(self.lanes, present, strict=True)
        sizes = [lane.sizes(feed, batches, rows) for lane, rows in here]
        for number, batch in enumerate(batches):
            for lane, its_sizes in zip(self.lanes, sizes, strict=True):
                lane.fill(feed, batch, its_sizes[number])
            self._step.run()
            for lane in self.lanes:
                lane.tick()
        self._step.settle()


def _groups(buckets: Sequence[Bucket]) -> list[dict[str, Tensor]]:
    """For each bucket its shared layers with the group of each row, counted from 0 over all."""
    groups: list[dict[str, Tensor]] = [{} for _ in buckets]
    for layer in {layer: None for bucket in buckets for layer in bucket.shared}:
        sharing = [n for n, bucket in enumerate(buckets) if layer in bucket.shared]
        hosts = [buckets[n].shared[layer] for n in sharing]
        known, numbers = np.unique(np.concatenate(hosts), return_inverse=True)
        if len(known) == len(numbers):
            continue  # everybody has a host of its own
        ends = np.cumsum([len(each) for each in hosts])
        for n, each in zip(sharing, np.split(numbers, ends[:-1]), strict=True):
            groups[n][layer] = torch.from_numpy(each).to(buckets[n].stack.device)
    return groups


def _front(bucket: Bucket, wire: Wire, *, kernels: bool) -> OrderedDict[str, nn.Module]:
    """The front's layers, and between them what travels; at the end of two chains the tap does."""
    layers = OrderedDict[str, nn.Module]()
    for number, (name, layer) in enumerate(bucket.chains.front.named_children(), start=1):
        layers[name] = layer
        sending = [number in ends for ends in bucket.sends]
        is_tap = number == bucket.cut and bucket.chains.back is not None
        if wire != "fp32" and any(sending) and not is_tap:
            rows = torch.tensor(sending, device=bucket.stack.device)
            layers[f"{name}_sent"] = Travel(wire, rows, kernels=kernels)
    return layers


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
