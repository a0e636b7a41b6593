"""The messages of the engines' nodes as what travels, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from tiercut.engines.nodes import Layers
from tiercut.engines.transport import Activations, Address, Gradients, Message, Weights
from tiercut.engines.wire import pack, unpack
from tiercut.net.frames import Refused
from tiercut.net.messages import (
    ActivationsHeader,
    GradientsHeader,
    NamedTensor,
    WeightsHeader,
)
from tiercut.net.tensors import describe, payload_of, tensors_from
from tiercut.scenario import Wire

DTYPE = torch.float32
"""What nodes compute in."""

Letter = ActivationsHeader | GradientsHeader | WeightsHeader
Tag = tuple[int, int]
"""A round, and the attempt at it."""


class NotFinite(Refused):
    """Values that are no numbers: they would spoil those of everybody."""


def write_letter(
    message: Message, sender: Address, receiver: Address, tag: Tag, wire: Wire
) -> tuple[Letter, list[memoryview]]:
    """A message as a header and the bytes that follow it."""
    number, attempt = tag
    if isinstance(message, Weights):
        part = receiver.role if sender.role == "server" else sender.role
        assert part != "server", "the server sends itself nothing"
        weights = WeightsHeader(
            round=number,
            attempt=attempt,
            part=part,
            clients=message.clients,
            tensors=named_tensors(message.layers),
        )
        return weights, payload_of(_flat(message.layers))
    values = pack(message.values, wire)
    described = tuple(map(describe, values))
    if isinstance(message, Gradients):
        gradients = GradientsHeader(
            round=number, attempt=attempt, client=message.client, tensors=described
        )
        return gradients, payload_of(values)
    activations = ActivationsHeader(
        round=number,
        attempt=attempt,
        client=message.client,
        step=message.step,
        tensors=(*described, describe(message.labels)),
    )
    return activations, payload_of([*values, message.labels])


def read_letter(header: Letter, payload: memoryview, wire: Wire) -> Message:
    """The message that has come; its header has been checked against what was due."""
    tensors = tensors_from(header.tensors, payload)
    if not all(map(_is_finite, tensors)):
        raise NotFinite(f"{header.kind} that are not finite")
    if isinstance(header, WeightsHeader):
        layers: Layers = {}
        for entry, tensor in zip(header.tensors, tensors, strict=True):
            layers.setdefault(entry.layer, {})[entry.key] = tensor
        return Weights(header.clients, layers)
    if isinstance(header, GradientsHeader):
        return Gradients(header.client, unpack(tensors, wire, DTYPE))
    *values, labels = tensors
    return Activations(header.client, header.step, unpack(values, wire, DTYPE), labels)


def _is_finite(tensor: Tensor) -> bool:
    if not tensor.is_floating_point():
        return True
    # The sum is ten times as fast, and says no too often at most: finite values can add up to inf.
    return bool(tensor.sum().isfinite()) or bool(tensor.isfinite().all())


def named_tensors(layers: Mapping[str, Mapping[str, Tensor]]) -> tuple[NamedTensor, ...]:
    """What a message with these layers says of its tensors."""
    return tuple(
        NamedTensor(layer=layer, key=key, **describe(tensor).model_dump())
        for layer, tensors in layers.items()
        for key, tensor in tensors.items()
    )


def _flat(layers: Mapping[str, Mapping[str, Tensor]]) -> Sequence[Tensor]:
    return [tensor for tensors in layers.values() for tensor in tensors.values()]


def check_labels(labels: Tensor, classes: int) -> None:
    """Refuse labels that stand for no class."""
    if bool(((labels < 0) | (labels >= classes)).any()):
        raise Refused(f"a label outside 0 to {classes - 1}")
