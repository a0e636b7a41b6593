"""Cutting changes nothing: every cut of every model gives the uncut model's bits.

What one part sends to another is a tensor of its own: activations go up detached, gradients come
back as plain numbers. A part sees nothing else of the others, so what it computes depends on its
own layers and on what it receives. It is therefore enough to run each part that any cut makes, on
exactly what crosses its boundaries in the uncut model: where every part sends on exactly the same
again, every cut composes to the uncut model. Whole cuts are played through where that is cheap.

ResNet-101 has 561 cuts. All of them are tried an eighth as wide, which is the same code and the
same 35 layers; at full width every layer is a part of its own, so that every boundary is tried.
"""

from itertools import combinations

import pytest
import torch
from torch.nn.functional import cross_entropy

from tiercut.models import resnet
from tiercut.models.zoo import build_model

LABELS = torch.tensor([3, 7])


def every_cut(model):
    return combinations(range(1, model.depth), 2)


def every_part(model):
    """First and last layer of each part that some cut has."""
    cuts = (((1, h), (h + 1, v), (v + 1, model.depth)) for h, v in every_cut(model))
    return {part for parts in cuts for part in parts}


def as_received(sent):
    """What arrives at the other end of a link: the same numbers, and no way back but a message."""
    return sent.detach().requires_grad_()


class UncutRun:
    """One pass of a whole model in training mode, and what crosses every boundary in it.

    `crossing[l]` is what leaves layer l (0: the samples), with its gradient; `random_states[l]` is
    torch's random state at that moment, from which dropout draws.
    """

    def __init__(self, name, image_size=None):
        torch.manual_seed(0)
        self.model = build_model(name)
        channels, height, width = self.model.input_shape
        samples = torch.randn(2, channels, image_size or height, image_size or width)
        self.crossing, self.random_states = [], []
        hooks = [layer.register_forward_pre_hook(self._record) for layer in self.model.layers]
        self.outputs = self.model(samples.requires_grad_())
        for hook in hooks:
            hook.remove()
        cross_entropy(self.outputs, LABELS).backward()
        self.gradients = [parameter.grad for parameter in self.model.parameters()]
        assert all(gradient.isfinite().all() for gradient in self.gradients)

    def _record(self, layer, arguments):
        arguments[0].retain_grad()
        self.crossing.append(arguments[0])
        self.random_states.append(torch.get_rng_state())

    def assert_equal_bits(self, first, last):
        """Run layers `first` to `last` on their own, and compare all that comes out of them."""
        part = self.model.slice(first, last)
        received = as_received(self.crossing[first - 1])
        torch.set_rng_state(self.random_states[first - 1])
        sent = part(received)
        if last == self.model.depth:
            expected, start, gradient = self.outputs, cross_entropy(sent, LABELS), None
        else:
            expected, start, gradient = self.crossing[last], sent, self.crossing[last].grad
        assert torch.equal(sent, expected)
        back, *gradients = torch.autograd.grad(start, [received, *part.parameters()], gradient)
        assert torch.equal(back, self.crossing[first - 1].grad)
        assert all(map(torch.equal, gradients, (p.grad for p in part.parameters())))


@pytest.mark.parametrize("name", ["small", "alexnet", "vgg11"])
def test_every_cut_trains_with_the_uncut_models_bits(name):
    uncut = UncutRun(name)
    for h, v in every_cut(uncut.model):
        uncut.model.zero_grad()
        torch.set_rng_state(uncut.random_states[0])
        weak, aggregator, server = uncut.model.cut(h, v)
        below = weak(uncut.crossing[0].detach())
        at_aggregator = as_received(below)
        above = aggregator(at_aggregator)
        at_server = as_received(above)
        outputs = server(at_server)
        cross_entropy(outputs, LABELS).backward()
        above.backward(at_server.grad)
        below.backward(at_aggregator.grad)
        assert torch.equal(outputs, uncut.outputs)
        gradients = (parameter.grad for parameter in uncut.model.parameters())
        assert all(map(torch.equal, gradients, uncut.gradients))


@pytest.mark.parametrize("name", ["small", "alexnet", "vgg11", "vgg19"])
def test_every_part_of_every_cut_gives_the_uncut_models_bits(name):
    uncut = UncutRun(name)
    for first, last in every_part(uncut.model):
        uncut.assert_equal_bits(first, last)


def test_every_part_of_every_cut_of_a_narrow_resnet101_gives_its_bits(monkeypatch):
    monkeypatch.setattr(resnet, "WIDTH", resnet.WIDTH // 8)
    uncut = UncutRun("resnet101", image_size=16)
    for first, last in every_part(uncut.model):
        uncut.assert_equal_bits(first, last)


def test_every_layer_of_resnet101_alone_gives_the_uncut_models_bits():
    uncut = UncutRun("resnet101", image_size=16)
    for layer in range(1, uncut.model.depth + 1):
        uncut.assert_equal_bits(layer, layer)
