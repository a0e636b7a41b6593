"""The transport of the nodes on one machine: among themselves, and to other machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from tiercut.engines.transport import Address, Message, Receive
from tiercut.net.due import Due
from tiercut.net.letters import Tag, write_letter
from tiercut.net.workshop import Outbox, Workshop
from tiercut.scenario import Wire


def _nobody(_: int) -> None:
    return None


def _nothing() -> None:
    return None


class Post:
    """Lives on the workshop's thread; what arrives for a node is handed to it there.

    `due` is for the answers to what is sent: by the number of the machine that owes them.
    """

    def __init__(self, device: int, wire: Wire, workshop: Workshop) -> None:
        self._device, self._wire, self._workshop = device, wire, workshop
        self._receivers: dict[Address, Receive] = {}
        self._outbox: Callable[[int], Outbox | None] = _nobody
        self._due: Mapping[int, Due] = {}
        self._after: Callable[[], None] = _nothing
        self.tag: Tag | None = None
        """The attempt at a round that is under way."""
        self.bytes: Counter[str] = Counter()
        """Bytes sent in it, by kind of message, sender's and receiver's role."""

    def begin(
        self,
        tag: Tag,
        outbox: Callable[[int], Outbox | None],
        due: Mapping[int, Due],
        after: Callable[[], None] = _nothing,
    ) -> None:
        """Carry the messages of another attempt.

        `outbox` finds the way to a machine, or none; `after` is called after every delivery.
        """
        self.tag, self._outbox, self._due, self._after = tag, outbox, due, after
        self.bytes.clear()

    def stop(self) -> None:
        """Carry nothing more."""
        self.tag = None

    def attach(self, address: Address, receive: Receive) -> None:
        """See tiercut.engines.transport.Transport."""
        self._receivers[address] = receive

    def send(self, sender: Address, receiver: Address, message: Message) -> None:
        """See tiercut.engines.transport.Transport."""
        tag = self.tag
        if tag is None:
            return
        if receiver.device == self._device:
            # Behind what came from others meanwhile, or a node would serve itself alone.
            self._workshop.add(self.delivery(tag, receiver, message))
            return
        header, payload = write_letter(message, sender, receiver, tag, self._wire)
        self.bytes[f"{header.kind} {sender.role} {receiver.role}"] += sum(map(len, payload))
        if header.kind == "activations" and receiver.device in self._due:
            self._due[receiver.device].expect(header.client, header.tensors[:-1])
        outbox = self._outbox(receiver.device)
        if outbox is not None:  # who is not to be reached is found out by who waits for it
            outbox.put(header, payload)

    def delivery(self, tag: Tag, receiver: Address, message: Message) -> Callable[[], None]:
        """Work for the workshop: hand a message to its node, unless its time is over by then."""

        def deliver() -> None:
            if tag == self.tag:
                self._receivers[receiver](message)
                self._after()

        return deliver
