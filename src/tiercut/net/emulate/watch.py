"""Following a run on an emulated network by what its folder says."""

from __future__ import annotations

from collections.abc import Callable

from tiercut.net.emulate.network import EmulatedNetwork
from tiercut.train.folder import RunFolder
from tiercut.train.journal import read_records
from tiercut.train.record import Record


class Watch:
    """Sees each round soon after it is over, and counts what went over the wires until then."""

    def __init__(
        self, network: EmulatedNetwork, folder: RunFolder, on_round: Callable[[Record], None]
    ) -> None:
        self._network, self._folder, self._on_round = network, folder, on_round
        self.wire: list[int] = []
        """Bytes that all hosts sent in each round."""
        self._sent: int | None = None
        """Until the last round was over; before that, until everybody had measured itself."""

    def look(self) -> None:
        """See what is new."""
        if self._sent is None:
            if not self._folder.fleet.exists():  # which is written when all is measured
                return
            self._sent = self._network.sent()
        records = read_records(self._folder.rounds) if self._folder.rounds.exists() else []
        for record in records[len(self.wire) :]:
            sent = self._network.sent()
            self.wire.append(sent - self._sent)
            self._sent = sent
            self._on_round(record)
