"""What came of a run on an emulated network: predicted against measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tiercut.fleet import Fleet
from tiercut.net.emulate.shares import Shares
from tiercut.train.record import RealRound, Record, Traffic
from tiercut.units import show_size, show_time


@dataclass(frozen=True, eq=False)
class Outcome:
    """Rounds, and how far the machine was from what the scenario asked for."""

    records: Sequence[Record]
    wanted: Fleet
    """As the scenario says."""
    found: Fleet
    """As the hosts measured themselves."""
    shares: Shares | None
    wire: Sequence[int]
    """Bytes that all hosts sent in each round, with everything that is around the payload."""

    @property
    def speed(self) -> float:
        """How fast hosts compute, as a multiple of what the scenario says; the median."""
        found, wanted = self.found, self.wanted
        ratios = found.throughput[self._order] / wanted.throughput
        return float(np.median([*ratios, found.server_throughput / wanted.server_throughput]))

    @property
    def rate(self) -> float:
        """How fast links to the server carry payload, by what the scenario says; the median."""
        return float(np.median(self.found.to_server[self._order] / self.wanted.to_server))

    @property
    def _order(self) -> list[int]:
        """Where the clients of the scenario are among those who joined, in any order."""
        return [self.found.names.index(name) for name in self.wanted.names]

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        shares = None
        if self.shares is not None:
            names = (*self.wanted.names, "server")
            shares = dict(zip(names, (*self.shares.clients, self.shares.server), strict=True))
        rounds = [
            {"round": record.round, "ratio": ratio(real), **real.model_dump(mode="json")}
            for record, real in ((record, real_of(record)) for record in self.records)
        ]
        return {
            "shares": shares,
            "speed": self.speed,
            "rate": self.rate,
            "rounds": [
                {**found, "wire_bytes": sent} for found, sent in zip(rounds, self.wire, strict=True)
            ],
        }


def real_of(record: Record) -> RealRound:
    """What was real of a round: on emulated hosts, all of it."""
    assert record.real is not None
    return record.real


def ratio(real: RealRound) -> float:
    """Measured over predicted seconds of a round."""
    return real.measured.round / real.predicted.round


def describe(record: Record) -> str:
    """A round in a line."""
    real = real_of(record)
    return (
        f"round {record.round}: predicted {show_time(real.predicted.round)}, measured"
        f" {show_time(real.measured.round)}, ratio {ratio(real):.3f};"
        f" {show_size(_total(real.predicted_bytes))} predicted,"
        f" {show_size(_total(real.measured_bytes))} measured"
    )


def _total(traffic: Traffic) -> float:
    return traffic.between + traffic.server + traffic.weights
