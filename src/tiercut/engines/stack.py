"""The state of all replicas: one tensor [rows, *shape] per weight, buffer and optimiser moment.

A row is a client. Those who take part in the round come first; weights exist for them only, since
everybody starts from the same ones. Moments are each client's own and stay, so they have a row for
everybody. The auxiliary head at cut v is a layer too, called `head@v`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from tiercut.engines.chains import HEAD
from tiercut.engines.dropout import client_key
from tiercut.engines.layout import repeat, take
from tiercut.engines.outer import BEFORE, START, ahead, below
from tiercut.engines.task import State, Task

COUNT = "step"
"""What torch calls the number of steps an optimiser took."""


class Stack:
    """Weights, moments and counters of all clients, and the model that a round starts from."""

    def __init__(
        self, task: Task, device: torch.device, dtype: torch.dtype, *, channels_last: bool
    ) -> None:
        self.task, self.device, self.dtype = task, device, dtype
        self._repeat = partial(repeat, channels_last=channels_last)
        self.rows: NDArray[np.int64] = task.order
        """The client of each row."""
        self.taking_part = len(task.clients)
        """How many rows, from the first, take part in the round."""
        self.start: dict[str, Tensor] = {}
        """What the last round came to, which the next one starts from, or from ahead of it."""
        self.before: dict[str, Tensor] = {}
        """What the round before that one came to, where the next one starts ahead."""
        self.weights: dict[str, Tensor] = {}
        self.moments: dict[str, dict[str, Tensor]] = {}
        """For every parameter, by name of the moment; `step` counts its steps."""
        self.layer_of: dict[str, str] = {}
        keys = [client_key(task.seeds, task.sources[n]) for n in self.rows]
        self.keys = torch.tensor(keys, device=device)
        self.steps = torch.zeros(len(keys), dtype=torch.int64, device=device)
        """Batches that each client has trained on, ever."""
        for name, layer in task.model.named_layers():
            self.adopt(name, layer)

    def adopt(self, name: str, layer: nn.Module) -> None:
        """Make room for a layer, unless there is, with the weights it has now."""
        if name in self.layers:
            return
        parameters = {f"{name}.{key}" for key, _ in layer.named_parameters()}
        for key, value in layer.state_dict().items():
            full = f"{name}.{key}"
            dtype = self.dtype if value.is_floating_point() else value.dtype
            start = value.detach().to(self.device, dtype, copy=True)
            self.layer_of[full], self.start[full] = name, start
            self.weights[full] = self._repeat(start, self.taking_part)
            if full in parameters:
                moments = {m: torch.zeros_like(start) for m in self.task.optimiser.moments}
                # Torch counts steps in float32, whatever the parameter is.
                moments[COUNT] = torch.zeros((), dtype=torch.float32, device=self.device)
                self.moments[full] = {
                    m: self._repeat(zero, len(self.rows)) for m, zero in moments.items()
                }

    def adopt_heads(self, layers: Iterable[str]) -> None:
        """Make room for the heads among some layers."""
        for name in layers:
            if name.startswith(HEAD) and name not in self.layers:
                self.adopt(name, self.task.build_head(int(name.removeprefix(HEAD))))

    @property
    def layers(self) -> list[str]:
        """The model's layers, and all heads so far."""
        return list(dict.fromkeys(self.layer_of.values()))

    def model(self) -> State:
        """What a round starts from, as the model's own state_dict calls it."""
        return {f"layers.{k}": self.start[k] for k in self.keys_of(self.task.model.layer_names)}

    def arrange(self, rows: NDArray[np.int64], taking_part: int) -> bool:
        """Bring the rows into another order; True where tensors moved and views are stale."""
        if (rows == self.rows).all() and taking_part == self.taking_part:
            return False
        place = np.empty(len(rows), dtype=np.int64)
        place[self.rows] = np.arange(len(rows))
        moved = torch.from_numpy(place[rows]).to(self.device)
        for moments in self.moments.values():
            for name, values in moments.items():
                moments[name] = take(values, moved)
        self.keys, self.steps = self.keys[moved], self.steps[moved]
        if taking_part != self.taking_part:
            for key, value in self.start.items():
                self.weights[key] = self._repeat(value, taking_part)
        self.rows, self.taking_part = rows, taking_part
        return True

    def go_on(self, mean: State, several: Iterable[str]) -> None:
        """Go on from what the replicas came to; there were `several` models of these layers."""
        if self.task.outer_momentum:
            apart = self.parameters_of(several) & mean.keys()
            self.before = {key: self.start[key].clone() for key in apart}
        for key, value in mean.items():
            self.start[key].copy_(value)

    def restart(self) -> None:
        """Give every row the weights that a round starts from."""
        moved = ahead(self.start, self.before, self.task.outer_momentum)
        for key, value in {**self.start, **moved}.items():
            self.weights[key].copy_(value.expand_as(self.weights[key]))

    def move_moments(self, layer: str, source: NDArray[np.int64]) -> None:
        """Give row r the moments of row source[r] in this layer, or new ones where that is -1."""
        if (source == np.arange(len(source))).all():
            return
        given = torch.from_numpy(np.maximum(source, 0)).to(self.device)
        fresh = torch.from_numpy(source < 0).to(self.device)
        for key in self.keys_of([layer]):
            for values in self.moments.get(key, {}).values():
                values.copy_(values[given])
                values[fresh] = 0

    def load_moments(self, layer: str, given: Sequence[State]) -> None:
        """Give each client, in their own order, moments in this layer; new ones where none are."""
        for name, values in self._moments_by_name([layer]):
            for row, client in zip(values, self.rows.tolist(), strict=True):
                row.copy_(given[client].get(name, row.new_zeros(())))

    def keys_of(self, layers: Iterable[str]) -> list[str]:
        """The names of all tensors of some layers."""
        wanted = set(layers)
        return [key for key, layer in self.layer_of.items() if layer in wanted]

    def parameters_of(self, layers: Iterable[str]) -> Set[str]:
        """The names of those of them that are trained."""
        return self.moments.keys() & self.keys_of(layers)

    def to_state(self) -> State:
        """Everything that the next round depends on, clients in their own order."""
        start = {f"{START}{key}": value for key, value in self.start.items()}
        before = {f"{BEFORE}{key}": value for key, value in self.before.items()}
        return {**start, **before, **self.kept()}

    def kept(self) -> State:
        """What clients keep from round to round, each entry in their own order."""
        place = np.argsort(self.rows)
        rows = torch.from_numpy(place).to(self.device)
        state = {"steps": self.steps[rows]}
        for name, values in self._moments_by_name():
            state[name] = values[rows].contiguous()
        return state

    def load_state(self, state: State) -> None:
        """Go on from a saved state; the layers it speaks of must have been adopted."""
        self.load_model(state)
        self.load_kept(state)

    def load_model(self, state: State) -> None:
        """Take what the last rounds came to out of a saved state."""
        start = {key: state[f"{START}{key}"] for key in self.start}
        self.load_start(start, below(BEFORE, state))

    def load_start(self, start: State, before: State) -> None:
        """Take what the last rounds came to; there may be more than these layers."""
        for key in self.start.keys() & start.keys():
            self.start[key].copy_(start[key])
        self.before = {
            key: torch.empty_like(self.start[key]).copy_(before[key])
            for key in self.start.keys() & before.keys()
        }

    def load_kept(self, state: State) -> None:
        """Give clients back what they kept."""
        rows = torch.from_numpy(self.rows)
        self.steps.copy_(state["steps"][rows])
        for name, values in self._moments_by_name():
            values.copy_(state[name][rows])

    def _moments_by_name(self, layers: Iterable[str] | None = None) -> Iterator[tuple[str, Tensor]]:
        """Moments of some layers, or of all, as a state calls them."""
        for key in self.moments if layers is None else self.keys_of(layers):
            for name, values in self.moments.get(key, {}).items():
                yield f"moment/{name}/{key}", values
