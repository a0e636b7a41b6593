"""Rounds on real devices: who is there, and what was predicted against what was measured."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from tiercut.cost.traffic import LABEL_BYTES
from tiercut.engines.build import Engine
from tiercut.engines.task import Measured
from tiercut.fleet import Fleet
from tiercut.plan.plan import Plan
from tiercut.train.record import Phases, RealRound, Traffic


class Live(Engine, Protocol):
    """An engine whose devices come and go."""

    def fleet(self) -> Fleet:
        """Who is there now: the same value as before where nothing has changed.

        Waits where nobody is.
        """


def compare_real(plan: Plan, measured: Measured | None, attempts: int) -> RealRound | None:
    """A plan against what came of it; None where nothing was real."""
    if measured is None:
        return None
    seconds = plan.seconds
    return RealRound(
        attempts=attempts,
        predicted=Phases(
            download=seconds.download,
            training=seconds.round - seconds.download - seconds.upload,
            upload=seconds.upload,
            round=seconds.round,
        ),
        measured=Phases(
            download=measured.download,
            training=measured.training,
            upload=measured.upload,
            round=measured.seconds,
        ),
        predicted_bytes=_predicted_bytes(plan),
        measured_bytes=_measured_bytes(measured),
    )


def _predicted_bytes(plan: Plan) -> Traffic:
    """Labels travel with activations, to aggregators those of all samples."""
    bytes_, served_by = plan.traffic, plan.placement.aggregator_of
    served = int((served_by != np.arange(len(served_by))).sum())
    labels = served * plan.epochs * plan.batches_per_epoch * plan.batch * LABEL_BYTES
    return Traffic(
        between=bytes_.activations_to_aggregator + bytes_.gradients_from_aggregator + labels,
        server=bytes_.activations_to_server + bytes_.gradients_from_server + bytes_.labels - labels,
        weights=bytes_.weights_down + bytes_.weights_up + bytes_.head_weights,
    )


def _measured_bytes(measured: Measured) -> Traffic:
    sums = {"between": 0, "server": 0, "weights": 0}
    for kind, size in measured.bytes.items():
        where = "server" if "server" in kind else "between"
        sums["weights" if kind.startswith("weights") else where] += size
    return Traffic(**{name: float(size) for name, size in sums.items()})
