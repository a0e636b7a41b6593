"""What each layer costs, found by a dry run: shapes and FLOPs are real, tensors are not.

The run uses torch's fake tensors, which carry a shape and no data, and torch's own FLOP counter
(2 FLOP per multiply-add). It takes a fraction of a second and next to no memory for any model, and
leaves the model and torch's random numbers as they were.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.flop_counter import FlopCounterMode

from tiercut.errors import InputError
from tiercut.models.heads import HeadKind, build_head
from tiercut.models.layered import LayeredModel
from tiercut.models.profile import HeadCost, LayerCost, Profile

Shape = tuple[int, ...]

_FAKE_TENSOR_LOG = logging.getLogger("torch._subclasses.fake_tensor")

BYTES_PER_ELEMENT = 4
"""Weights and activations travel as float32, whatever a model computes in."""
_SHAPES: WeakKeyDictionary[LayeredModel, tuple[Shape, ...]] = WeakKeyDictionary()
"""What was found of models that are still there, whose layers stay what they are."""


def trace(model: LayeredModel) -> Profile:
    """Profile `model`, with the cost of its default auxiliary head after every layer."""
    with _dry_run(model):
        walk = list(_walk(model))
        classes = classes_in(model, walk[-1][0])
        heads = tuple(_head_cost(model.head, shape, classes) for shape, _ in walk)
    layers = tuple(
        _layer_cost(index, name, layer, shape, flops)
        for index, ((name, layer), (shape, flops)) in enumerate(
            zip(model.named_layers(), walk, strict=True), start=1
        )
    )
    parameters = sum(layer.parameters for layer in layers)
    return Profile(name=model.name, parameters=parameters, layers=layers, heads=heads)


def activation_shapes(model: LayeredModel) -> tuple[Shape, ...]:
    """Find the shape, for one sample, of what every layer passes on; a model runs once for that."""
    if model not in _SHAPES:
        with _dry_run(model):
            _SHAPES[model] = tuple(shape for shape, _ in _walk(model))
    return _SHAPES[model]


def count_classes(model: LayeredModel) -> int:
    """Count the scores that the last layer gives for one sample."""
    return classes_in(model, activation_shapes(model)[-1])


@contextmanager
def _dry_run(model: LayeredModel) -> Iterator[None]:
    """Give tensors no data, and let BatchNorm accept one sample, while this lasts."""
    training = [module for module in model.modules() if module.training]
    was_disabled = _FAKE_TENSOR_LOG.disabled
    model.eval()
    # A layer that fails is reported as an InputError; torch would also log its own traceback.
    _FAKE_TENSOR_LOG.disabled = True
    try:
        with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
            yield
    finally:
        _FAKE_TENSOR_LOG.disabled = was_disabled
        for module in training:
            module.training = True


def _walk(model: LayeredModel) -> Iterator[tuple[Shape, int]]:
    """Yield for every layer in turn the shape of its output and its FLOPs, for one sample."""
    activations = model.random_input(batch=1)
    for index, (name, layer) in enumerate(model.named_layers(), start=1):
        where = f"layer {index} ({name}) of {model.name}, given shape {_sample_shape(activations)},"
        try:
            outputs, flops = _count_flops(layer, activations)
        except Exception as problem:
            reason = str(problem).rstrip(".")
            raise InputError(
                f"{where} fails: {reason}; the model's input_shape is {model.input_shape}: correct"
                f" it, or the layer"
            ) from problem
        activations = _one_sample(outputs, where)
        yield _sample_shape(activations), flops


def _count_flops(module: nn.Module, inputs: Tensor) -> tuple[object, int]:
    with FlopCounterMode(display=False) as counter:
        outputs = module(inputs)
    return outputs, counter.get_total_flops()


def _one_sample(outputs: object, where: str) -> Tensor:
    """Check that a layer which was given a batch of one gives a batch of one again."""
    if not isinstance(outputs, Tensor):
        raise InputError(
            f"{where} returns a {type(outputs).__name__}; a layer must return one tensor, because"
            f" that is what travels across a cut"
        )
    if outputs.ndim < 2 or outputs.shape[0] != 1:
        raise InputError(
            f"{where} turns a batch of 1 into a tensor of shape {tuple(outputs.shape)}; a layer"
            f" must keep the batch as its first dimension and give at least one number per sample"
        )
    return outputs


def _sample_shape(activations: Tensor) -> Shape:
    return tuple(activations.shape[1:])


def classes_in(model: LayeredModel, shape: Shape) -> int:
    """Count the scores in what the last layer passes on for one sample."""
    if len(shape) != 1:
        raise InputError(
            f"the last layer of {model.name} gives shape {shape} for one sample; it must give one"
            f" score per class: end the model with nn.Flatten and nn.Linear in one nn.Sequential"
        )
    return shape[0]


def _layer_cost(index: int, name: str, layer: nn.Module, shape: Shape, flops: int) -> LayerCost:
    return LayerCost(
        index=index,
        name=name,
        flops=flops,
        weight_bytes=_weight_bytes(layer),
        activation_bytes=BYTES_PER_ELEMENT * torch.Size(shape).numel(),
        parameters=sum(p.numel() for p in layer.parameters() if p.requires_grad),
    )


def _head_cost(kind: HeadKind, shape: Shape, classes: int) -> HeadCost:
    head = build_head(kind, shape, classes)
    _, flops = _count_flops(head, torch.empty(1, *shape))
    return HeadCost(flops=flops, weight_bytes=_weight_bytes(head))


def _weight_bytes(module: nn.Module) -> int:
    """Count what averaging must send: parameters and BatchNorm statistics, no step counters."""
    statistics = [buffer for buffer in module.buffers() if buffer.is_floating_point()]
    return BYTES_PER_ELEMENT * sum(tensor.numel() for tensor in (*module.parameters(), *statistics))
