"""How the schemes that AA HSFL-ll is compared with would decide on the same fleet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiercut.cost import Placement
from tiercut.errors import InputError
from tiercut.fleet import Floats, Ints
from tiercut.plan.candidates import priced
from tiercut.plan.greedy import fastest_greedy
from tiercut.plan.greedy_scan import scan
from tiercut.plan.paper import paper_counts
from tiercut.plan.problem import Problem
from tiercut.plan.solution import Solution


def single_cut(problem: Problem, *, time_limit: float | None = None) -> Solution:
    """SFL or LocSFL, as the problem's scheme says: the one cut for all with the fastest round."""
    clients = len(problem.fleet)
    candidates = (priced(problem, Placement.two_tiers(np.full(clients, v))) for v in problem.cuts)
    return Solution(min(candidates, key=lambda candidate: candidate.seconds).placement)


def multihop(problem: Problem, *, time_limit: float | None = None) -> Solution:
    """Multihop SFL: every (h, v), as many helpers as the paper tries, greedy assignment."""
    return fastest_greedy(problem, scan(problem, paper_counts(problem)), time_limit)


def hsfl(problem: Problem, *, time_limit: float | None = None) -> Solution:
    """HSFL-ll: h, v and lambda are given; the strongest aggregate, the others join greedily."""
    wishes = problem.wishes
    given = {
        "the aggregator layer (--aggregator-layer)": wishes.aggregator_layer is not None,
        "exactly one cut layer (--cuts)": len(problem.cuts) == 1,
        "the share of aggregators (--lambda)": wishes.aggregators is not None,
    }
    missing = [what for what, is_given in given.items() if not is_given]
    if missing:
        raise InputError(
            f"HSFL-ll does not choose its layers and aggregators itself; also give"
            f" {' and '.join(missing)}"
        )
    return fastest_greedy(problem, scan(problem, paper_counts(problem)), time_limit)


def dtfl(problem: Problem, *, time_limit: float | None = None) -> Solution:
    """DTFL as published: every client is timed as if it had the server for itself.

    T_max is the best time of the slowest client, and everybody takes the deepest tier within it.
    """
    tiers = _Tiers.of(problem)
    seconds = tiers.seconds(tiers.server)
    return tiers.solution(_deepest(seconds <= seconds.min(axis=1).max()))


def dtfl_contended(problem: Problem, *, time_limit: float | None = None) -> Solution:
    """DTFL knowing that the server works for everybody: the smallest T_max there is.

    The server's term is its whole load: the work of all clients at the tiers they take. Everybody
    starts at the deepest tier, where that load is least. Whoever misses the T_max to beat goes to
    the deepest tier that meets it, which is shallower and adds load, so others may have to follow;
    nobody ever goes back. No schedule that beats T_max is deeper for anybody than the current one,
    so once a client has no tier left, the last schedule kept has the smallest possible T_max, and
    everybody has the deepest tier within it.
    """
    tiers = _Tiers.of(problem)
    clients = np.arange(len(problem.fleet))
    chosen = best = np.full(len(clients), len(tiers.cuts) - 1)
    to_beat = np.inf
    while True:
        seconds = tiers.seconds(tiers.server[chosen].sum())
        slowest = seconds[clients, chosen].max()
        if slowest < to_beat:
            best, to_beat = chosen, slowest
        within = seconds < to_beat
        if not within.any(axis=1).all():
            return tiers.solution(best)
        chosen = _deepest(within)


@dataclass(frozen=True, eq=False)
class _Tiers:
    """Seconds per round of every client (rows) at every tier (columns, shallow to deep)."""

    cuts: Ints
    client: Floats
    """The client computes its layers, forward and backward."""
    transfer: Floats
    """Weights go down and up, activations go up."""
    server: Floats
    """The server computes the rest for one client, alone; the same for all clients."""

    @classmethod
    def of(cls, problem: Problem) -> _Tiers:
        fleet, work, scheme = problem.fleet, problem.work, problem.scheme
        cuts = np.unique(problem.cuts)
        batches = work.epochs * problem.batches
        bytes_moved = 2 * work.weights(1, cuts) + batches * work.upload(cuts, scheme)
        return cls(
            cuts,
            client=batches * 3 * work.forward(1, cuts) / fleet.throughput[:, None],
            transfer=bytes_moved / fleet.to_server[:, None],
            server=batches * work.above(cuts, scheme) / fleet.server_throughput,
        )

    def seconds(self, server: Floats) -> Floats:
        """T_hat: client and server work side by side, then there are the transfers."""
        return np.maximum(self.client, server) + self.transfer

    def solution(self, chosen: Ints) -> Solution:
        """The placement with everybody at its chosen tier."""
        return Solution(Placement.two_tiers(self.cuts[chosen]))


def _deepest(within: NDArray[np.bool_]) -> Ints:
    """The last true column of every row."""
    deepest: Ints = within.shape[1] - 1 - within[:, ::-1].argmax(axis=1)
    return deepest
