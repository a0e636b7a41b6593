"""Clients, aggregators and the server, as objects that pass messages. This reads like the paper.

Every node is a host: it holds replicas of some layers, one per client it works for. Nobody tells
the nodes when to go on: a client starts its next batch when the last one's gradient is there, and
hosts average when all their clients have come as far. Whether the messages travel through memory or
over a network is the transport's business.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from tiercut.engines.dropout import client_key
from tiercut.engines.feed import Feed
from tiercut.engines.replica import Replica
from tiercut.engines.schedule import BatchOver, Pace, Schedule
from tiercut.engines.task import Brief, OnEpoch, quiet
from tiercut.engines.transport import (
    SERVER,
    Activations,
    Address,
    Gradients,
    Message,
    Transport,
    Weights,
)
from tiercut.scenario import Interval
from tiercut.schemes import Part

Layers = dict[str, dict[str, Tensor]]

SHARED = "shared"
"""In the place of a client: the one model that a host has for all."""


@dataclass(frozen=True, eq=False)
class Duty:
    """What a host does for one client in this round."""

    layers: Mapping[str, nn.Module]
    head: str | None = None
    """Which of the layers is the auxiliary head."""
    below: Address = SERVER
    """Who sends this client's activations, and gets the gradients."""
    above: Address = SERVER
    """Who gets what comes out of these layers."""


class Host:
    """A node that trains layers for clients, and averages them where it holds several."""

    part: Part

    def __init__(self, task: Brief, address: Address, transport: Transport) -> None:
        self.task, self.address, self.transport = task, address, transport
        self.replicas: dict[int, Replica] = {}
        self._master = Replica(task.optimiser)
        self.begin({}, Schedule(0, 0, {}, set()))
        transport.attach(address, self.receive)

    @property
    def interval(self) -> Interval:
        """How often this host averages."""
        return self.task.scheme.interval(self.part)

    @property
    def present(self) -> set[int]:
        """The clients whose replicas train and are averaged now."""
        return self.pace.present

    def loss_over(self, clients: Set[int]) -> float:
        """The sum of the losses of some clients' samples so far in this round."""
        return sum(self._losses.get(n, 0.0) for n in sorted(clients))

    def begin(self, duties: Mapping[int, Duty], schedule: Schedule) -> None:
        """Take up a round's duties; whoever takes part and is served elsewhere now is forgotten."""
        for n in schedule.taking_part - duties.keys():
            self.replicas.pop(n, None)
        self.duties, self.schedule = dict(duties), schedule
        self.pace = Pace(schedule, duties.keys(), self.interval)
        self._losses: dict[int, float] = {}
        self._held: list[Activations] = []
        self._advancing = False
        for n, duty in duties.items():
            replica = self.replica(str(n))
            replica.assign(duty.layers)
            replica.draw_as(client_key(self.task.seeds, schedule.turns[n].source))
        if self.interval == "batch":
            held = [replica.layers for replica in self.replicas.values()]
            self._master.assign({name: m for layers in held for name, m in layers.items()})

    def replica(self, client: str) -> Replica:
        """The replica of a client, by number, or the shared one; made where there is none yet."""
        if client == SHARED:
            return self._master
        n = int(client)
        if n not in self.replicas:
            self.replicas[n] = Replica(self.task.optimiser)
        return self.replicas[n]

    def moments(self) -> Iterator[tuple[str, Tensor]]:
        """The optimiser state of every replica, by client, layer, parameter and moment."""
        for client, replica in ((SHARED, self._master), *self.replicas.items()):
            for key, value in replica.moments():
                yield f"{client}/{key}", value

    def forget(self) -> None:
        """Start anew with every replica."""
        self.replicas.clear()
        self._master = Replica(self.task.optimiser)

    def load_moment(self, place: str, value: Tensor, prototypes: Mapping[str, nn.Module]) -> None:
        """Put one piece of optimiser state back, by what `moments` calls it."""
        client, layer, parameter, name = place.split("/")
        replica = self.replica(client)
        if layer not in replica.layers:
            replica.assign({**replica.layers, layer: prototypes[layer]})
        replica.load_moment(layer, int(parameter), name, value)

    def receive(self, message: Message) -> None:
        """Act on a message."""
        if isinstance(message, Activations):
            if self.pace.is_open(message.client, message.step):
                self.on_activations(message)
            else:
                self._held.append(message)
        elif isinstance(message, Gradients):
            self.on_gradients(message)
        else:
            self.on_weights(message)

    def on_activations(self, message: Activations) -> None:
        """Activations came from below."""
        raise NotImplementedError

    def on_gradients(self, message: Gradients) -> None:
        """Gradients came back from above."""
        raise NotImplementedError

    def on_weights(self, message: Weights) -> None:
        """A round starts from these weights."""
        for n in message.clients:
            self.replicas[n].load(message.layers)
        if self.interval == "batch":
            self._master.load(message.layers)

    def _loss(self, client: int, scores: Tensor, labels: Tensor) -> Tensor:
        loss = functional.cross_entropy(scores, labels)
        self._losses[client] = self._losses.get(client, 0.0) + loss.item() * len(labels)
        return loss

    def _update(self, client: int) -> None:
        """A client's batch is done; a shared model waits for everybody's gradients."""
        if self.interval != "batch":
            self.replicas[client].update()
        self.pace.count(client)
        self.advance()

    def drop(self, client: int) -> None:
        """Go on without a client that is lost."""
        self.pace.drop(client)
        self._held = [message for message in self._held if message.client != client]
        self.advance()

    def advance(self) -> None:
        """Act on whatever has come to its end, and on what had to wait for that."""
        if self._advancing or self.pace.over:  # the loop below goes on; a round ends once
            return
        self._advancing = True
        while moment := self.pace.next_moment():
            if isinstance(moment, BatchOver):
                self.end_batch(moment.number, moment.sizes)
            else:
                self.end_epoch(moment.number)
                self.pace.begin_epoch()
            waiting, self._held = self._held, []
            for message in waiting:
                self.receive(message)
        self._advancing = False
        if self.pace.over:
            self.end_round()

    def end_batch(self, number: int, sizes: Mapping[int, int]) -> None:
        """Batch `number` (from 1) is over; `sizes` are the samples that each client had in it."""
        if self.interval == "batch":
            self._update_shared({n: self.trained_on(size) for n, size in sizes.items()})
        elif isinstance(self.interval, int) and number % self.interval == 0:
            self.average()

    def trained_on(self, samples: int) -> int:
        """How many samples of a client's batch this host sees."""
        return samples

    def end_epoch(self, number: int) -> None:
        """Epoch `number` (from 1) is over."""
        if self.interval == "epoch" or isinstance(self.interval, int):
            self.average()

    def end_round(self) -> None:
        """All epochs are over."""

    def average(self) -> None:
        """Give every replica of a layer the mean of all that are here, weighted by examples."""
        mean = average([(self.replicas[n].weights(), self._share(n)) for n in sorted(self.present)])
        for n in self.present:
            self.replicas[n].load(mean)

    def _share(self, client: int) -> float:
        return float(self.schedule.turns[client].examples)

    def _update_shared(self, active: Mapping[int, int]) -> None:
        """One model for all: the gradient is the mean over all samples of the batch."""
        for name, layer in self._master.layers.items():
            here = {n: s for n, s in active.items() if name in self.replicas[n].layers}
            for key, parameter in layer.named_parameters():
                parameter.grad = torch.zeros_like(parameter) if here else None
                for n, size in here.items():
                    gradient = self.replicas[n].layers[name].get_parameter(key).grad
                    assert parameter.grad is not None
                    assert gradient is not None
                    parameter.grad += gradient * (size / sum(here.values()))
        self._master.update()
        # Running statistics have no gradient: they are averaged as each client left them.
        seen = average([(self.replicas[n].weights(), float(s)) for n, s in active.items()])
        mean = self._master.weights()
        for name, layer in self._master.layers.items():
            buffers = dict(layer.named_buffers()).keys() if name in seen else ()
            mean[name].update({key: seen[name][key] for key in buffers})
        for n in self.present:
            self.replicas[n].load(mean)
            for layer in self.replicas[n].layers.values():
                layer.zero_grad(set_to_none=True)
        self._master.load(mean)


def average(weighted: Sequence[tuple[Layers, float]]) -> Layers:
    """The weighted mean of every layer over all that have it; counters take the largest."""
    mean: Layers = {}
    for name in dict.fromkeys(name for layers, _ in weighted for name in layers):
        having = [(layers[name], share) for layers, share in weighted if name in layers]
        total = sum(share for _, share in having)
        for key in having[0][0]:
            values = torch.stack([tensors[key] for tensors, _ in having])
            shares = values.new_tensor([share / total for _, share in having], dtype=torch.float64)
            mean.setdefault(name, {})[key] = _mean(values, shares)
    return mean


def _mean(values: Tensor, shares: Tensor) -> Tensor:
    if not values.is_floating_point():
        return values.amax(0)
    mean: Tensor = torch.tensordot(shares.to(values.dtype), values, dims=1)
    return mean


class Client(Host):
    """Holds its data and the first layers; works for nobody but itself."""

    part = Part.CLIENT

    def __init__(self, task: Brief, address: Address, transport: Transport, feed: Feed) -> None:
        super().__init__(task, address, transport)
        self.feed = feed
        """Of this client's data alone."""

    def start(self) -> None:
        """Start the round's first batch; each further one follows from the last."""
        self._steps = iter(self.schedule.turns[self.address.device].steps)
        self._epoch = -1
        self._start_batch(next(self._steps))

    def _start_batch(self, step: int) -> None:
        """Run the own layers and send what comes out upwards."""
        n, schedule = self.address.device, self.schedule
        epoch, batch = schedule.turns[n].place(step)
        if epoch != self._epoch:
            self.feed.start_epoch(schedule.round * schedule.epochs + epoch)
            self._epoch = epoch
        samples, labels = self.feed.one(0, batch)
        self._values = self.replicas[n].forward(samples, step)
        message = Activations(n, step, self._values.detach(), labels)
        self.transport.send(self.address, self.duties[n].above, message)

    def on_gradients(self, message: Gradients) -> None:
        """Train on the gradient that came back, and go on."""
        self._values.backward(message.values)
        self._update(message.client)
        step = next(self._steps, None)
        if step is not None:
            self._start_batch(step)

    def end_round(self) -> None:
        """Send the own layers to the server; who is not there at the end sends nothing."""
        for n in self.present:
            message = Weights((n,), self.replicas[n].weights())
            self.transport.send(self.address, SERVER, message)


class Aggregator(Host):
    """Runs the layers h+1..v of its clients, and under a local loss their heads."""

    part = Part.AGGREGATOR

    def begin(self, duties: Mapping[int, Duty], schedule: Schedule) -> None:
        """Take up a round's duties."""
        super().begin(duties, schedule)
        self._values: dict[int, Tensor] = {}

    def on_activations(self, message: Activations) -> None:
        """Run the middle layers; learn at once from the local loss, or wait for the server."""
        client, labels = message.client, message.labels
        replica, duty = self.replicas[client], self.duties[client]
        values = replica.forward(message.values, message.step, head=duty.head)
        seen = self.task.sent_up(len(labels))
        upwards = Activations(client, message.step, values.detach()[:seen], labels[:seen])
        self.transport.send(self.address, duty.above, upwards)
        if duty.head is None:
            self._values[client] = values
        else:
            self._loss(client, replica.layers[duty.head](values), labels).backward()
            self._pass_down(client)

    def on_gradients(self, message: Gradients) -> None:
        """Learn from the gradient that the server sent, and pass it on."""
        self._values.pop(message.client).backward(message.values)
        self._pass_down(message.client)

    def _pass_down(self, client: int) -> None:
        gradient = Gradients(client, self.replicas[client].input_gradient)
        self.transport.send(self.address, self.duties[client].below, gradient)
        self._update(client)

    def end_round(self) -> None:
        """Send the layers to the server, once for all whose replicas are alike."""
        for those in self._alike():
            message = Weights(tuple(those), self.replicas[those[0]].weights())
            self.transport.send(self.address, SERVER, message)

    def _alike(self) -> Iterable[list[int]]:
        """The clients whose replicas have the same layers and were averaged; else each alone."""
        alike: dict[object, list[int]] = {}
        for n in sorted(self.present):
            key = n if self.interval == "round" else tuple(self.replicas[n].layers)
            alike.setdefault(key, []).append(n)
        return alike.values()


class Server(Host):
    """Runs the last layers of every client, and makes one model of all of them every round."""

    part = Part.SERVER

    def __init__(self, task: Brief, address: Address, transport: Transport) -> None:
        super().__init__(task, address, transport)
        self.on_epoch: OnEpoch = quiet

    def begin(self, duties: Mapping[int, Duty], schedule: Schedule) -> None:
        """Take up a round's duties."""
        super().begin(duties, schedule)
        self.received: list[Weights] = []

    def on_activations(self, message: Activations) -> None:
        """Learn from the loss at the end; send its gradient back unless there is a local loss."""
        client = message.client
        replica = self.replicas[client]
        scores = replica.forward(message.values, message.step)
        self._loss(client, scores, message.labels).backward()
        if not self.task.scheme.local_loss:
            gradient = Gradients(client, replica.input_gradient)
            self.transport.send(self.address, self.duties[client].below, gradient)
        self._update(client)

    def trained_on(self, samples: int) -> int:
        """See Host; under a local loss a share is enough."""
        return self.task.sent_up(samples)

    def end_epoch(self, number: int) -> None:
        """Average what is here, and tell who wants to know."""
        super().end_epoch(number)
        self.on_epoch(number)

    def start_from(self, layers: Layers) -> None:
        """Load the weights that the round starts from; the server has them already."""
        super().on_weights(Weights(tuple(self.duties), layers))

    def on_weights(self, message: Weights) -> None:
        """Keep, at the end of a round, what was trained on behalf of these clients."""
        self.received.append(message)

    def result(self) -> Layers:
        """One model of what all who are still there trained; messages may have come in any order.

        Whoever was lost after it had sent its layers does not count.
        """
        own = [(self.replicas[n].weights(), self._share(n)) for n in sorted(self.present)]
        sent = [
            (message.layers, sum(self._share(n) for n in self.present & {*message.clients}))
            for message in sorted(self.received, key=lambda message: message.clients)
            if self.present & {*message.clients}
        ]
        return average([*sent, *own])
