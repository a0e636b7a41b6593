"""The yardstick: how published split-federated code trains, only kinder.

A Python loop over clients, a DataLoader each, three sub-models and three optimisers per client,
activations and gradients "sent" by clone and detach, `.item()` after every batch. Published code
also deep-copies models and rebuilds optimisers for every batch; this does not.
"""

from __future__ import annotations

import copy

import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from tiercut.engines.task import Task


class Naive:
    """All clients of a task at one (h, v), trained one after another."""

    def __init__(self, task: Task, h: int, v: int, device: torch.device) -> None:
        self.device = device
        self.clients = [_Client(task, n, h, v, device) for n in range(len(task.clients))]

    def epoch(self) -> float:
        """Train every client on all its data; the sum of all losses."""
        return sum(client.epoch(self.device) for client in self.clients)


class _Client:
    def __init__(self, task: Task, n: int, h: int, v: int, device: torch.device) -> None:
        weak, middle, server = copy.deepcopy(task.model).cut(h, v)
        self.weak, self.middle, self.server = (p.to(device) for p in (weak, middle, server))
        self.head = task.build_head(v).to(device)
        middle_and_head = [*self.middle.parameters(), *self.head.parameters()]
        groups = (self.weak.parameters(), middle_and_head, self.server.parameters())
        self.optimisers = [task.optimiser.build(parameters) for parameters in groups]
        images = torch.tensor(task.examples.images[task.shards[n]]).float() / 255
        labels = torch.tensor(task.examples.labels[task.shards[n]])
        data = TensorDataset(images, labels)
        self.loader = DataLoader(data, batch_size=task.batch, shuffle=True)

    def epoch(self, device: torch.device) -> float:
        total = 0.0
        on_client, on_aggregator, on_server = self.optimisers
        for batch in self.loader:
            images, labels = (values.to(device) for values in batch)
            activations = self.weak(images)
            received = activations.detach().clone().requires_grad_()
            cut = self.middle(received)
            on_aggregator.zero_grad()
            functional.cross_entropy(self.head(cut), labels).backward()
            on_aggregator.step()
            on_client.zero_grad()
            activations.backward(_gradient(received))
            on_client.step()
            at_server = cut.detach().clone()
            on_server.zero_grad()
            loss = functional.cross_entropy(self.server(at_server), labels)
            loss.backward()
            on_server.step()
            total += loss.item()
        return total


def _gradient(received: torch.Tensor) -> torch.Tensor:
    assert received.grad is not None
    return received.grad.clone()


def state_dict_average(models: list[nn.Module], groups: list[list[int]]) -> None:
    """How published code does FedAvg: key by key, client by client, then loaded back."""
    for group in groups:
        states = [models[n].state_dict() for n in group]
        share = 1 / len(group)  # of the group's examples, which are spread evenly here
        mean = copy.deepcopy(states[0])
        for key in mean:
            mean[key] = mean[key] * share
            for state in states[1:]:
                mean[key] += state[key] * share
        for n in group:
            models[n].load_state_dict(mean)
