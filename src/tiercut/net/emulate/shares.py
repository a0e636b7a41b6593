"""How much of this machine's processors each host of a fleet gets."""

from __future__ import annotations

from dataclasses import dataclass

from tiercut.errors import InputError
from tiercut.fleet import Fleet
from tiercut.net.emulate.throttle import SMALLEST_SHARE


@dataclass(frozen=True)
class Shares:
    """Fractions of a core, in proportion to the fleet's throughputs."""

    clients: tuple[float, ...]
    server: float

    @property
    def total(self) -> float:
        """Cores that all hosts use together."""
        return sum(self.clients) + self.server


def share_out(fleet: Fleet, cores: float) -> Shares:
    """Divide so many cores among the hosts of a fleet: twice the throughput, twice the share."""
    a_core = (float(fleet.throughput.sum()) + fleet.server_throughput) / cores
    shares = Shares(tuple((fleet.throughput / a_core).tolist()), fleet.server_throughput / a_core)
    least = min(*shares.clients, shares.server)
    if least < SMALLEST_SHARE:
        raise InputError(
            f"the slowest host of this fleet would get {least:.2g} of a core, and the kernel gives"
            f" no less than {SMALLEST_SHARE:g}; emulate fewer clients, or throughputs that are"
            f" closer together"
        )
    return shares
