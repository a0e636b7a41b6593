"""Ray: stations are its actors, and the store is its own. The one module here that knows Ray."""

from __future__ import annotations

import re
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayActorError, RayError, RayTaskError

from tiercut.engines.ray.crew import Call, Lost, Ref
from tiercut.engines.ray.room import Room
from tiercut.engines.ray.station import Station
from tiercut.errors import MissingError, TiercutError

PATIENCE = 120
"""Seconds for a station to start: a cluster that is full makes it wait, and never says so."""


class RayCluster:
    """The cluster that this process is part of; see Cluster."""

    def __init__(self, room: Room, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._actor = ray.remote(Station).options(
            num_cpus=room.cpus, num_gpus=room.gpus, scheduling_strategy="SPREAD"
        )

    def open_station(self) -> Any:
        """See Cluster."""
        return self._actor.remote()

    def close_station(self, station: Any) -> None:
        """See Cluster."""
        ray.kill(station)

    def wait_for(self, station: Any, name: str) -> None:
        """See Cluster."""
        try:
            ray.get(station.__ray_ready__.remote(), timeout=self._patience)
        except GetTimeoutError:
            raise MissingError(
                f"the cluster had no room for {name} within {self._patience:g} s; wait until others"
                f" are done, or ask for fewer workers or threads"
            ) from None

    def send(self, station: Any, call: Call) -> list[Ref]:
        """See Cluster."""
        method = getattr(station, call.method).options(num_returns=1 + call.objects)
        refs = method.remote(*call.arguments)
        return list(refs) if call.objects else [refs]

    def put(self, value: Any) -> Ref:
        """See Cluster."""
        return ray.put(value)

    def get(self, ref: Ref) -> Any:
        """See Cluster."""
        try:
            return ray.get(ref)
        except RayActorError as lost:
            raise Lost(_brief(lost)) from None
        except RayError as problem:
            cause = problem.cause if isinstance(problem, RayTaskError) else problem
            if isinstance(cause, TiercutError):
                raise cause from None
            if isinstance(cause, RayError):
                raise TiercutError(
                    f"the cluster lost what it was to keep ({_brief(cause)}); go on from the"
                    f" last checkpoint with --resume"
                ) from None
            raise


def _brief(problem: Exception) -> str:
    """What Ray says of a problem, without the pages that follow."""
    return re.split(r"\. |: |\.?\n", str(problem).strip(), maxsplit=1)[0].rstrip(".")
