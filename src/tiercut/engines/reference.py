"""Engine `reference`: every node an object, every exchange a message. Slow, and the judge."""

from __future__ import annotations

import copy
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from tiercut.engines.chains import HEAD
from tiercut.engines.cores import one_thread_each
from tiercut.engines.feed import Feed
from tiercut.engines.nodes import Aggregator, Client, Duty, Host, Layers, Server
from tiercut.engines.task import OnEpoch, Round, State, Task, Trained, quiet
from tiercut.engines.transport import SERVER, Address, InMemory, Weights


class Reference:
    """Trains round after round from the task's initial weights, on the CPU."""

    def __init__(self, task: Task, *, dtype: torch.dtype = torch.float32) -> None:
        self.task, self.dtype = task, dtype
        self.transport = InMemory(task.wire)
        self.feed = Feed(task, torch.device("cpu"), dtype)
        self.prototypes: dict[str, nn.Module] = dict(task.model.named_layers())
        self.layers: Layers = {}
        """The one model that a round starts from, and the heads that were ever used."""
        for name, layer in self.prototypes.items():
            self._adopt(name, layer)
        self.steps = [0] * len(task.clients)
        """Batches that each client has trained on, ever."""
        self.clients = [
            Client(task, Address("client", n), self.transport) for n in range(len(task.clients))
        ]
        self.aggregators = [
            Aggregator(task, Address("aggregator", n), self.transport)
            for n in range(len(task.clients))
        ]
        self.server = Server(task, SERVER, self.transport)

    def _adopt(self, name: str, layer: nn.Module) -> None:
        own = copy.deepcopy(layer).to(self.dtype)
        self.prototypes[name] = own
        self.layers[name] = {key: value.clone() for key, value in own.state_dict().items()}

    @property
    def hosts(self) -> list[Host]:
        """Every node."""
        return [*self.clients, *self.aggregators, self.server]

    def run_round(self, plan: Round, on_epoch: OnEpoch = quiet) -> Trained:
        """Train all epochs of a round, and start the next one from the average."""
        with one_thread_each():  # the layers that tests use are too small to share
            return self._run_round(plan, on_epoch)

    def _run_round(self, plan: Round, on_epoch: OnEpoch) -> Trained:
        self._begin(plan)
        for host in self.hosts:
            host.losses.clear()
        samples = 0
        for epoch, present in enumerate(plan.present):
            for host in self.hosts:
                host.present &= {int(n) for n in present.nonzero()[0]}
            samples += self._run_epoch(plan.index * self.task.epochs + epoch)
            on_epoch(epoch + 1)
        self._end()
        local = sum(sum(node.losses) for node in self.aggregators)
        return Trained(
            samples=samples,
            local_loss=local / samples if self.task.scheme.local_loss and samples else None,
            loss=sum(self.server.losses) / max(samples, 1),
        )

    def _begin(self, plan: Round) -> None:
        """Tell everybody what to do, and send the weights for it."""
        taking_part = {int(n) for n in plan.present[0].nonzero()[0]}
        parts = {n: self._parts(plan, n) for n in sorted(taking_part)}
        for n, client in enumerate(self.clients):
            client.begin({n: parts[n][0]} if n in taking_part else {}, taking_part)
        serving = plan.placement.aggregator_of
        for k, aggregator in enumerate(self.aggregators):
            aggregator.begin({n: d[1] for n, d in parts.items() if serving[n] == k}, taking_part)
        self.server.begin({n: duties[2] for n, duties in parts.items()}, taking_part)
        self.server.start_from(self.layers)
        for node in (*self.clients, *self.aggregators):
            self._send_weights(node)
        self.transport.deliver()

    def _send_weights(self, node: Host) -> None:
        """One copy for all the replicas of a node: they start equal."""
        needed = [name for duty in node.duties.values() for name in duty.layers]
        if needed:
            layers = {name: self.layers[name] for name in dict.fromkeys(needed)}
            self.transport.send(SERVER, node.address, Weights(tuple(node.duties), layers))

    def _parts(self, plan: Round, n: int) -> tuple[Duty, Duty, Duty]:
        """Client n's three parts and who talks to whom."""
        h, v = int(plan.placement.aggregator_layers[n]), int(plan.placement.cut_layers[n])
        names = list(self.task.model.layer_names)
        middle, head = names[h:v], None
        if self.task.scheme.local_loss:
            head = f"{HEAD}{v}"
            if head not in self.prototypes:
                self._adopt(head, self.task.build_head(v))
            middle = [*middle, head]
        client = Address("client", n)
        aggregator = Address("aggregator", int(plan.placement.aggregator_of[n]))
        return (
            Duty(self._take(names[:h]), above=aggregator),
            Duty(self._take(middle), head=head, below=client),
            Duty(self._take(names[v:]), below=aggregator),
        )

    def _take(self, names: list[str]) -> Mapping[str, nn.Module]:
        return {name: self.prototypes[name] for name in names}

    def _run_epoch(self, number: int) -> int:
        self.feed.start_epoch(number)
        samples = 0
        for batch in range(self.feed.batches):
            sizes: dict[int, int] = {}
            for n in self.task.order.tolist():
                size = int(self.feed.sizes[n, batch])
                if size and n in self.clients[n].present:
                    sizes[n] = size
                    self.clients[n].start_batch(n, self.steps[n], *self.feed.one(n, batch))
                    self.transport.deliver()
                    self.steps[n] += 1
            for host in self.hosts:
                host.end_batch(batch + 1, sizes)
            samples += sum(sizes.values())
        for host in self.hosts:
            host.end_epoch()
        return samples

    def _end(self) -> None:
        for node in self.clients:
            for n in sorted(node.present):
                node.upload(n)
        for aggregator in self.aggregators:
            aggregator.upload()
        self.transport.deliver()
        self.layers.update(self.server.end_round())

    def weights(self) -> dict[str, Tensor]:
        """The model's weights, as its own state_dict calls them."""
        return {
            f"layers.{name}.{key}": value
            for name in self.task.model.layer_names
            for key, value in self.layers[name].items()
        }

    def to_state(self) -> State:
        """Everything that the next round depends on."""
        state = {f"start/{name}/{k}": v for name, ts in self.layers.items() for k, v in ts.items()}
        state["steps"] = torch.tensor(self.steps)
        for host in self.hosts:
            for key, value in host.moments():
                state[f"moment/{host.address.role}/{host.address.device}/{key}"] = value
        return state

    def load_state(self, state: State) -> None:
        """Go on from a saved state."""
        for key, value in state.items():
            kind, _, rest = key.partition("/")
            if kind == "start":
                self._load_start(*rest.split("/"), value=value)
        self.steps = [int(step) for step in state["steps"]]
        nodes = {f"{host.address.role}/{host.address.device}": host for host in self.hosts}
        for key in (key for key in state if key.startswith("moment/")):
            _, role, device, client, layer, parameter, moment = key.split("/")
            replica = nodes[f"{role}/{device}"].replica(client)
            if layer not in replica.layers:
                replica.assign({**replica.layers, layer: self.prototypes[layer]})
            replica.load_moment(layer, int(parameter), moment, state[key])

    def _load_start(self, name: str, key: str, *, value: Tensor) -> None:
        if name not in self.prototypes:
            self._adopt(name, self.task.build_head(int(name.removeprefix(HEAD))))
        self.layers[name][key] = value.clone()
