"""The one model that a round starts from, and what its three parts are for every client."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping

import torch
from torch import Tensor, nn

from tiercut.engines.chains import HEAD
from tiercut.engines.nodes import Duty, Layers
from tiercut.engines.outer import BEFORE, START, ahead, below
from tiercut.engines.task import Brief, Round, State
from tiercut.engines.tiers import Tiers
from tiercut.engines.transport import Address, Weights


class CommonModel:
    """The layers of the model and the heads that were ever used, by name."""

    def __init__(self, task: Brief, dtype: torch.dtype) -> None:
        self._task, self._dtype = task, dtype
        self.prototypes: dict[str, nn.Module] = {}
        self.layers: Layers = {}
        """What the last round came to."""
        self.start: Layers = {}
        """What the next round starts from: that, or ahead of it."""
        self._before: State = {}
        """What the round before the last one came to, where the next one starts ahead."""
        for name, layer in task.model.named_layers():
            self._adopt(name, layer)

    def _adopt(self, name: str, layer: nn.Module) -> None:
        own = copy.deepcopy(layer).to(self._dtype)
        self.prototypes[name] = own
        self.layers[name] = {key: value.clone() for key, value in own.state_dict().items()}
        self.start[name] = self.layers[name]

    def duties(self, client: int, h: int, v: int, aggregator: int) -> tuple[Duty, Duty, Duty]:
        """A client's three parts: its own, its aggregator's and the server's."""
        names = list(self._task.model.layer_names)
        middle, head = names[h:v], None
        if self._task.scheme.local_loss:
            head = f"{HEAD}{v}"
            self._make_head(head)
            middle = [*middle, head]
        below, above = Address("client", client), Address("aggregator", aggregator)
        return (
            Duty(self._take(names[:h]), above=above),
            Duty(self._take(middle), head=head, below=below),
            Duty(self._take(names[v:]), below=above),
        )

    def _take(self, names: Iterable[str]) -> Mapping[str, nn.Module]:
        return {name: self.prototypes[name] for name in names}

    def _make_head(self, name: str) -> None:
        if name not in self.prototypes:
            self._adopt(name, self._task.build_head(int(name.removeprefix(HEAD))))

    def start_of(self, duties: Mapping[int, Duty]) -> Weights | None:
        """What a node starts from: one copy for all its replicas, which start equal."""
        needed = dict.fromkeys(name for duty in duties.values() for name in duty.layers)
        if not needed:
            return None
        return Weights(tuple(duties), {name: self.start[name] for name in needed})

    def go_on(self, result: Layers, plan: Round) -> None:
        """Go on from what a round came to."""
        if self._task.outer_momentum:
            self._before = {
                _place(name, key): self.layers[name][key]
                for name in Tiers(self._task, plan).several & result.keys()
                for key, _ in self.prototypes[name].named_parameters()
            }
        self.layers.update(result)
        self._start_ahead()

    def _start_ahead(self) -> None:
        moved = ahead(_flat(self.layers), self._before, self._task.outer_momentum)
        self.start = {
            name: {key: moved.get(_place(name, key), value) for key, value in tensors.items()}
            for name, tensors in self.layers.items()
        }

    def weights(self) -> dict[str, Tensor]:
        """The model's weights, as its own state_dict calls them."""
        return {
            f"layers.{name}.{key}": value
            for name in self._task.model.layer_names
            for key, value in self.layers[name].items()
        }

    def to_state(self) -> State:
        """All that the next round starts from."""
        return {
            **{f"{START}{place}": value for place, value in _flat(self.layers).items()},
            **{f"{BEFORE}{place}": value for place, value in self._before.items()},
        }

    def load_state(self, state: State) -> None:
        """Take what a round starts from out of a saved state."""
        for place, value in below(START, state).items():
            name, key = place.split("/")
            if name.startswith(HEAD):
                self._make_head(name)
            self.layers[name][key] = value.clone()
        self._before = {place: value.clone() for place, value in below(BEFORE, state).items()}
        self._start_ahead()


def _flat(layers: Layers) -> State:
    return {
        _place(name, key): value
        for name, tensors in layers.items()
        for key, value in tensors.items()
    }


def _place(layer: str, key: str) -> str:
    """How a state calls a tensor of a layer."""
    return f"{layer}/{key}"
