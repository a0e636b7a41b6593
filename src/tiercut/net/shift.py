"""A device's part in one attempt at a round: whom it works for, and what may come from whom."""

from __future__ import annotations

from dataclasses import dataclass

from tiercut.engines.common import CommonModel
from tiercut.engines.feed import batch_sizes
from tiercut.engines.nodes import Duty
from tiercut.engines.schedule import Schedule, Turn
from tiercut.engines.task import Brief
from tiercut.net.due import Due, Flow
from tiercut.net.frames import Refused
from tiercut.net.identity import SERVER as SERVER_NAME
from tiercut.net.letters import Tag, named_tensors
from tiercut.net.messages import Begin, Member

SERVER = -1
"""The server's number among the machines."""
MOST_BATCHES = 10**7
"""Of all that a device works for, in an epoch; the size of each is kept in memory."""


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
    names: dict[str, int]
    """The numbers of those machines."""

    @property
    def due_by_name(self) -> dict[str, Due]:
        """What may come from each machine, by name."""
        return {name: self.due[n] for name, n in self.names.items() if n in self.due}

    @property
    def awaits_weights(self) -> bool:
        """Whether some of the layers that it starts from are still to come."""
        return any(self.due[SERVER].weights.values())


def make_shift(begin: Begin, task: Brief, common: CommonModel) -> Shift:
    """Check a server's word against the model and the own data, and take it up."""
    client = begin.own.client
    known = {client: begin.own} | {member.client: member for member in begin.members}
    names = {SERVER_NAME: SERVER, begin.aggregator_name: begin.aggregator}
    names |= {member.name: n for n, member in known.items()}
    _check(begin, task, known, names)
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
    return Shift(begin.tag, client, begin.aggregator, schedule, own, served, due, names)


def _name(entry: tuple[int, Member]) -> str:
    return entry[1].name


def _check(begin: Begin, task: Brief, known: dict[int, Member], names: dict[str, int]) -> None:
    """Refuse what no server in its right mind says, before anything is made of it."""
    everybody = {SERVER, begin.aggregator, *known}
    if len(names) != len(everybody) or set(names.values()) != everybody:
        raise Refused("a round in which two devices share a name or a number")
    if len(begin.members) != len({member.client for member in begin.members}):
        raise Refused("a round in which a device is served twice")
    itself = [member for member in begin.members if member.client == begin.own.client]
    if itself != ([begin.own] if begin.aggregator == begin.own.client else []):
        raise Refused("a round in which it is unclear who serves this device")
    if not known.keys() <= set(begin.taking_part):
        raise Refused("a round in which somebody is served who takes no part")
    if (begin.own.name, begin.own.examples) != (task.clients[0], task.counts[0]):
        raise Refused("a round for a device of another name or with other data")
    if sum(-(-member.examples // task.batch) for member in known.values()) > MOST_BATCHES:
        raise Refused(f"a round of more than {MOST_BATCHES:,} batches in an epoch")
    for member in known.values():
        _check_member(member, task)


def _check_member(member: Member, task: Brief) -> None:
    h, v, depth = member.aggregator_layer, member.cut_layer, task.model.depth
    if not 1 <= h <= v < depth:
        raise Refused(f"a cut of {member.name} after layers {h} and {v} of {depth}")
    if member.examples < task.portions:
        raise Refused(f"{member.name} with {member.examples} examples in {task.portions} portions")
    if member.attends > task.epochs:
        raise Refused(f"{member.attends} epochs of {member.name} where there are {task.epochs}")


def _turn(member: Member, task: Brief) -> Turn:
    return Turn(
        source=member.name,
        examples=member.examples,
        sizes=tuple(batch_sizes(member.examples, task.batch, task.portions)),
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
    due = {SERVER: Due(answers=not task.scheme.local_loss)}
    for part, duties in (("client", own), ("aggregator", served)):
        start = common.start_of(duties)
        if start is not None:
            due[SERVER].weights[part] = dict.fromkeys(duties, named_tensors(start.layers))
    for member in begin.members:
        if member.client != client:
            shape = task.shapes[member.aggregator_layer - 1]
            flow = Flow(schedule.turns[member.client], shape, task.wire)
            due[member.client] = Due(flows={member.client: flow})
    due.setdefault(begin.aggregator, Due())
    return due
