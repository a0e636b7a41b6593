"""A device's part in one attempt at a round: whom it works for, and what may come from whom."""

from __future__ import annotations

from dataclasses import dataclass

from tiercut.engines.common import CommonModel
from tiercut.engines.feed import batch_sizes
from tiercut.engines.nodes import Duty
from tiercut.engines.schedule import Schedule, Turn
from tiercut.engines.task import Brief
from tiercut.errors import InputError
from tiercut.net.due import Due, Flow
from tiercut.net.letters import Tag, named_tensors
from tiercut.net.messages import Begin, Member

SERVER = -1
"""The server's number among the machines."""


@dataclass(frozen=True, eq=False)
class Shift:
    """What a `Begin` comes to."""

    tag: Tag
    client: int
    aggregator: int
    """Who runs this device's middle layers; itself maybe."""
    schedule: Schedule
    own: dict[int, Duty]
    served: dict[int, Duty]
    due: dict[int, Due]
    """What may come from each machine, by number."""

    @property
    def awaits_weights(self) -> bool:
        """Whether some of the layers that it starts from are still to come."""
        return any(self.due[SERVER].weights.values())


def make_shift(begin: Begin, task: Brief, common: CommonModel) -> Shift:
    """Check a server's word against the model, and take it up."""
    client = begin.own.client
    known = {client: begin.own} | {member.client: member for member in begin.members}
    for member in known.values():
        _check_layers(member, task.model.depth)
    schedule = Schedule(
        round=begin.round,
        epochs=task.epochs,
        turns={n: _turn(member, task) for n, member in sorted(known.items(), key=_name)},
        taking_part=set(begin.taking_part),
    )
    duties = {
        n: common.duties(
            n,
            member.aggregator_layer,
            member.cut_layer,
            begin.aggregator if n == client else client,
        )
        for n, member in known.items()
    }
    own = {client: duties[client][0]}
    served = {member.client: duties[member.client][1] for member in begin.members}
    due = _expected(begin, task, common, schedule, own, served)
    return Shift(begin.tag, client, begin.aggregator, schedule, own, served, due)


def _name(entry: tuple[int, Member]) -> str:
    return entry[1].name


def _check_layers(member: Member, depth: int) -> None:
    h, v = member.aggregator_layer, member.cut_layer
    if not 1 <= h <= v < depth:
        raise InputError(
            f"the server cuts client {member.name} at layers {h} and {v} of {depth}; update both"
            f" tiercuts to the same version"
        )


def _turn(member: Member, task: Brief) -> Turn:
    return Turn(
        source=member.name,
        examples=member.examples,
        sizes=tuple(batch_sizes(member.examples, task.batch)),
        first_step=member.first_step,
        attends=member.attends,
    )


def _expected(
    begin: Begin,
    task: Brief,
    common: CommonModel,
    schedule: Schedule,
    own: dict[int, Duty],
    served: dict[int, Duty],
) -> dict[int, Due]:
    """Layers and gradients from the server, activations from those who are served."""
    client = begin.own.client
    due = {SERVER: Due(begin.tag)}
    for part, duties in (("client", own), ("aggregator", served)):
        start = common.start_of(duties)
        if start is not None:
            due[SERVER].weights[part] = dict.fromkeys(duties, named_tensors(start.layers))
    for member in begin.members:
        if member.client != client:
            shape = task.shapes[member.aggregator_layer - 1]
            flow = Flow(schedule.turns[member.client], shape, task.wire)
            due[member.client] = Due(begin.tag, flows={member.client: flow})
    due.setdefault(begin.aggregator, Due(begin.tag))
    return due
