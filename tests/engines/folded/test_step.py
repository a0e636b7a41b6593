"""The folded step against a loop over ordinary replicas, to the last digits of float64."""

from __future__ import annotations

import pytest
import torch

from tests.engines.folded.loop import Clients
from tests.engines.folded.nets import NETS
from tiercut.engines.folded import Clock, FoldedStep, Together, fold
from tiercut.engines.optimiser import Optimiser

OPTIMISERS = {
    "sgd": Optimiser("sgd", 0.1),
    "momentum": Optimiser("sgd", 0.05, momentum=0.9, weight_decay=0.01),
    "adam": Optimiser("adam", 0.01, weight_decay=0.01),
}
RAGGED = [[4, 2, 0], [4, 4, 3], [0, 3, 4]]


def pair(net, optimiser, precision, dtype):
    """A loop of clients and a folded step from the same state."""
    build, shape, tap = NETS[net]
    chains = build()
    clients = Clients(chains, 3, optimiser, tap)
    stacks = [
        clients.stacked(position, chain, optimiser, dtype) for position, chain in enumerate(chains)
    ]
    clock = Clock(clients.keys, clients.steps)
    step = FoldedStep(
        stacks, optimiser, image_shape=shape, batch=4, precision=precision, tap=tap, clock=clock
    )
    return clients, stacks, step, shape


def train(step, images, labels, sizes):
    """One step, whose clients share nothing."""
    step.fill(fold(images), labels, torch.tensor(sizes))
    Together([step]).run()


def furthest(clients, stacks):
    """The largest distance of any parameter, moment or buffer, relative to the tensor's size."""
    worst = 0.0
    for client, parts in enumerate(clients.replicas):
        for position, (part, chain) in enumerate(zip(parts, stacks, strict=True)):
            state = clients.optimisers[client][position].state
            pairs = [(chain.parameters[key][client], p) for key, p in part.named_parameters()]
            pairs += [(chain.buffers[key][client], b) for key, b in part.named_buffers()]
            for moment, stacked in chain.moments.items():
                pairs += [
                    (stacked[key][client], state[p][moment])
                    for key, p in part.named_parameters()
                    if p in state
                ]
            for ours, theirs in pairs:
                wanted = theirs.detach().double()
                worst = max(worst, float((ours - wanted).abs().max() / (1 + wanted.abs().max())))
    return worst


@pytest.mark.parametrize("optimiser", OPTIMISERS)
@pytest.mark.parametrize("net", NETS)
def test_step_equals_loop_in_float64(net, optimiser):
    torch.manual_seed(3)
    spec = OPTIMISERS[optimiser]
    clients, stacks, step, shape = pair(net, spec, "fp64", torch.float64)
    total = torch.zeros_like(step.losses)
    for sizes in RAGGED:
        images = torch.randn(3, 4, *shape, dtype=torch.float64)
        labels = torch.randint(0, 5, (3, 4))
        train(step, images, labels, sizes)
        total += clients.train(images, labels, sizes)
    assert furthest(clients, stacks) <= 1e-12
    torch.testing.assert_close(step.losses, total, rtol=1e-12, atol=1e-12)
    if spec.kind == "adam":
        counted = stacks[0].steps[next(iter(stacks[0].parameters))]
        assert counted.tolist() == [2, 3, 2]


def test_client_without_samples_keeps_its_state():
    torch.manual_seed(4)
    spec = OPTIMISERS["adam"]
    _, stacks, step, shape = pair("normed", spec, "fp64", torch.float64)
    before = [
        {key: value.clone() for key, value in (chain.parameters | chain.buffers).items()}
        for chain in stacks
    ]
    images = torch.randn(3, 4, *shape, dtype=torch.float64)
    train(step, images, torch.zeros(3, 4, dtype=torch.int64), [4, 0, 4])
    for chain, old in zip(stacks, before, strict=True):
        for key, value in (chain.parameters | chain.buffers).items():
            assert torch.equal(value[1], old[key][1])
            assert not torch.equal(value[0], old[key][0])


def test_shared_gradients_are_what_updates():
    """With equal weights and averaged gradients, clients on different data stay equal."""
    torch.manual_seed(5)
    spec = OPTIMISERS["momentum"]
    layers = {name for chain in NETS["normed"][0]() for name, _ in chain.named_children()}
    _, stacks, step, shape = pair("normed", spec, "fp64", torch.float64)
    together = Together([step], [{layer: torch.zeros(3, dtype=torch.int64) for layer in layers}])
    for chain in stacks:
        for value in chain.parameters.values():
            value.copy_(value[:1].expand_as(value).clone())
    step.refresh()
    images = torch.randn(3, 4, *shape, dtype=torch.float64)
    step.fill(fold(images), torch.randint(0, 5, (3, 4)), torch.tensor([4, 4, 4]))
    together.run()
    for chain in stacks:
        for value in chain.parameters.values():
            assert torch.equal(value[0], value[1])
