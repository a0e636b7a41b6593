"""Where a round starts from, if not from what the last one came to: ahead of it.

Replicas that train apart step in different directions, and much of that cancels in their mean: it
moves less than one model would that had seen all their samples. With a momentum a round starts
ahead of the mean, by that share of the way the mean came in the last round, so that what rounds
have in common adds up. That is Nesterov's momentum, as FedAvgM and DiLoCo have it between rounds.
"""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

START, BEFORE = "start/", "before/"
"""How a state calls what the last round came to, and the one before it."""


def ahead(
    came_to: Mapping[str, Tensor], before: Mapping[str, Tensor], momentum: float
) -> dict[str, Tensor]:
    """Where a round starts from, of the tensors that have a `before`."""
    return {key: came_to[key] + momentum * (came_to[key] - old) for key, old in before.items()}


def below(prefix: str, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """What a state has under names that begin so, without that beginning."""
    return {key.removeprefix(prefix): v for key, v in state.items() if key.startswith(prefix)}
