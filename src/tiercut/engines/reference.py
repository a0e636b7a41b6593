"""Engine `reference`: every node an object, every exchange a message. Slow, and the judge."""

from __future__ import annotations

import torch
from torch import Tensor

from tiercut.engines.common import CommonModel
from tiercut.engines.cores import one_thread_each
from tiercut.engines.feed import Feed
from tiercut.engines.nodes import Aggregator, Client, Host, Server
from tiercut.engines.schedule import Schedule, make_schedule
from tiercut.engines.task import OnEpoch, Round, State, Task, Trained, quiet
from tiercut.engines.transport import SERVER, Address, InMemory


class Reference:
    """Trains round after round from the task's initial weights, on the CPU."""

    def __init__(self, task: Task, *, dtype: torch.dtype = torch.float32) -> None:
        self.task = task
        self.transport = InMemory(task.wire)
        self.common = CommonModel(task, dtype)
        self.steps = [0] * len(task.clients)
        """Batches that each client has trained on, ever."""
        device = torch.device("cpu")
        everybody = range(len(task.clients))
        self.clients = [
            Client(
                task,
                Address("client", n),
                self.transport,
                Feed(task.portion(n), device, dtype),
            )
            for n in everybody
        ]
        self.aggregators = [
            Aggregator(task, Address("aggregator", n), self.transport) for n in everybody
        ]
        self.server = Server(task, SERVER, self.transport)

    @property
    def hosts(self) -> list[Host]:
        """Every node."""
        return [*self.clients, *self.aggregators, self.server]

    def run_round(self, plan: Round, on_epoch: OnEpoch = quiet) -> Trained:
        """Train all epochs of a round, and start the next one from the average."""
        with one_thread_each():  # the layers that tests use are too small to share
            schedule = make_schedule(self.task, plan, self.steps)
            self.server.on_epoch = on_epoch
            self._begin(plan, schedule)
            for n in schedule.turns:
                self.clients[n].start()
            self.transport.deliver()
            self.common.go_on(self.server.result(), plan)
        for n, turn in schedule.turns.items():
            self.steps[n] = turn.steps.stop
        everybody = schedule.turns.keys()
        local = sum(node.loss_over(everybody) for node in self.aggregators)
        sizes = schedule.sizes_of(everybody)
        return Trained.over(self.task, sizes, (local, self.server.loss_over(everybody)))

    def _begin(self, plan: Round, schedule: Schedule) -> None:
        """Tell everybody what to do, and send the weights for it."""
        where = plan.placement
        duties = {
            n: self.common.duties(
                n,
                int(where.aggregator_layers[n]),
                int(where.cut_layers[n]),
                int(where.aggregator_of[n]),
            )
            for n in schedule.turns
        }
        for n, client in enumerate(self.clients):
            client.begin({n: duties[n][0]} if n in duties else {}, schedule)
        for k, aggregator in enumerate(self.aggregators):
            members = {n: d[1] for n, d in duties.items() if where.aggregator_of[n] == k}
            aggregator.begin(members, schedule)
        self.server.begin({n: d[2] for n, d in duties.items()}, schedule)
        self.server.start_from(self.common.start)
        for node in (*self.clients, *self.aggregators):
            weights = self.common.start_of(node.duties)
            if weights is not None:
                self.transport.send(SERVER, node.address, weights)
        self.transport.deliver()

    def weights(self) -> dict[str, Tensor]:
        """The model's weights, as its own state_dict calls them."""
        return self.common.weights()

    def to_state(self) -> State:
        """Everything that the next round depends on."""
        state = self.common.to_state()
        state["steps"] = torch.tensor(self.steps)
        for host in self.hosts:
            for key, value in host.moments():
                state[f"moment/{host.address.role}/{host.address.device}/{key}"] = value
        return state

    def load_state(self, state: State) -> None:
        """Go on from a saved state."""
        self.common.load_state(state)
        self.steps = [int(step) for step in state["steps"]]
        nodes = {f"{host.address.role}/{host.address.device}": host for host in self.hosts}
        for key in (key for key in state if key.startswith("moment/")):
            _, role, device, place = key.split("/", 3)
            nodes[f"{role}/{device}"].load_moment(place, state[key], self.common.prototypes)
