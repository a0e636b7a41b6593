"""Seconds of a training round, in closed form and vectorised over clients.

`paper`    every batch ends in a barrier, and an aggregator's upload is counted once.
`network`  what a real run does: an epoch is a pipeline of clients, aggregators, uplinks and server
           that is joined only at its end; uploads share the aggregator's link, and where the fleet
           gives access rates a node's transfers share its radio.

tiercut.cost.timeline plays the same round event by event; the tests hold the two equal.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tiercut.cost.placement import Placement
from tiercut.cost.schemes import SchemeCost
from tiercut.cost.workload import Workload
from tiercut.fleet import Fleet
from tiercut.scenario import CostModel

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RoundSeconds:
    """Where a round's time goes. forward, backward, server and batch are for one batch."""

    download: float
    forward: float
    backward: float
    server: float
    upload: float
    batch: float
    """What one more batch adds to an epoch."""
    round: float
    heads: float
    """What auxiliary heads would add to a batch; the paper leaves it out, and so does `round`."""

    def to_dict(self) -> dict[str, float]:
        """As JSON."""
        return {name: float(value) for name, value in asdict(self).items()}


@dataclass(frozen=True, eq=False)
class Terms:
    """The durations all cost models are made of, each for one batch, one entry per client n.

    k is the aggregator of n; `hosting` counts all the models that k hosts.
    """

    fetch: Floats
    """Moving n's weights from or to the server."""
    weak: Floats
    """n computes layers 1..h forward."""
    hop: Floats
    """Activations of layer h travel from n to k; gradients take as long to come back."""
    hosting: Floats
    """k computes layers h+1..v forward, for all its models together."""
    middle: Floats
    """The same for n alone."""
    processor: Floats
    """How long k computes for one batch of everybody it serves, itself included, both ways."""
    uplink: Floats
    """Activations of layer v travel from k to the server, for n alone."""
    uplink_shared: Floats
    """The same for all the models of k, one after another on its link."""
    hop_shared: Floats
    """`hop`, waiting for everybody else on the radio of k; equals `hop` on independent links."""
    radio: Floats
    """How long the radio of k is busy; 0 on independent links."""
    served: Floats
    """The server computes layers v+1..L forward and backward, for n alone."""
    server: float
    """T_s: the server computes layers v+1..L forward and backward, for everybody."""
    heads: float
    """The slowest aggregator computes the auxiliary heads of its models, forward and backward."""

    @property
    def forward(self) -> Floats:
        """From the start of n's batch until k has its activations of layer v."""
        return self.weak + self.hop + self.hosting

    @property
    def backward(self) -> Floats:
        """From the loss at v until n has updated layers 1..h."""
        return 2 * self.hosting + self.hop + 2 * self.weak

    @property
    def up(self) -> Floats:
        """`forward` of a batch that waits for nobody else's, as in a pipeline."""
        return self.weak + self.hop + self.middle

    @property
    def down(self) -> Floats:
        """`backward` of such a batch."""
        return 2 * self.middle + self.hop + 2 * self.weak

    @property
    def chain(self) -> Floats:
        """The whole of n's batch below the cut, without waiting."""
        return self.up + self.down

    @property
    def there_and_back(self) -> Floats:
        """The whole of n's batch where the gradient comes back from the server, without waiting."""
        return self.chain + 2 * self.uplink + self.served

    @property
    def returning_radio(self) -> Floats:
        """`radio` where gradients come back from the server."""
        return np.where(self.radio > 0, self.radio + self.uplink_shared, 0.0)


def round_terms(fleet: Fleet, work: Workload, placement: Placement, scheme: SchemeCost) -> Terms:
    """The durations of one round of `placement`."""
    h, v, k = placement.aggregator_layers, placement.cut_layers, placement.aggregator_of
    count = len(fleet)
    clients = np.arange(count)
    carried = np.where(placement.is_aggregator, v, h)
    weak = work.forward(1, h) / fleet.throughput
    middle = work.forward(h + 1, v) / fleet.throughput[k]
    hosting = _sum_of_group(k, middle)
    hop = work.activations(h) / fleet.links.pairs(clients, k)
    uplink = work.upload(v, scheme) / fleet.to_server[k]
    hop_at, uplink_at = _sum_of_group(k, hop), _sum_of_group(k, uplink)
    shared = fleet.links.shared
    served = work.above(v, scheme) / fleet.server_throughput
    return Terms(
        fetch=work.weights(1, carried) / fleet.to_server,
        weak=weak,
        hop=hop,
        hosting=hosting,
        middle=middle,
        processor=3 * (weak[k] + hosting),
        uplink=uplink,
        uplink_shared=uplink_at,
        hop_shared=np.where(hop > 0, hop_at, 0.0) if shared else hop,
        radio=2 * hop_at + uplink_at if shared else np.zeros(count),
        served=served,
        server=float(served.sum()),
        heads=float((_sum_of_group(k, work.head(v)) / fleet.throughput[k]).max() * 3),
    )


def _sum_of_group(k: NDArray[np.int64], values: Floats) -> Floats:
    """For each client, the sum of `values` over everybody with the same aggregator."""
    sums: Floats = np.bincount(k, weights=values, minlength=len(k)).astype(np.float64)
    return sums[k]


def round_seconds(
    fleet: Fleet, work: Workload, placement: Placement, scheme: SchemeCost, model: CostModel
) -> RoundSeconds:
    """The seconds of one round of `scheme` with this placement."""
    terms = round_terms(fleet, work, placement, scheme)
    batches = work.batches(fleet)
    if not scheme.local_loss:
        first = _with_barriers(terms, work, batches, *_end_to_end(terms, model))
        return first if model == "paper" else _after_the_first(first, terms, work, batches)
    if model == "paper":
        forward = float((terms.forward + terms.uplink).max())
        backward = max(terms.server, float(terms.backward.max()))
        return replace(_with_barriers(terms, work, batches, forward, backward), heads=terms.heads)
    return _pipelined(terms, work, batches)


def _end_to_end(terms: Terms, model: CostModel) -> tuple[float, float]:
    """Forward and backward of a batch whose gradient comes back from the server."""
    hop, uplink = terms.hop, terms.uplink
    if model == "network":
        hop, uplink = terms.hop_shared, terms.uplink_shared
    forward = terms.weak + hop + terms.hosting + uplink
    backward = uplink + 2 * terms.hosting + hop + 2 * terms.weak
    return float(forward.max()), terms.server + float(backward.max())


def _with_barriers(
    terms: Terms, work: Workload, batches: int, forward: float, backward: float
) -> RoundSeconds:
    fetch = float(terms.fetch.max())
    batch = forward + backward
    whole = 2 * fetch + work.epochs * batches * batch
    return RoundSeconds(fetch, forward, backward, terms.server, fetch, batch, whole, heads=0.0)


def _after_the_first(
    first: RoundSeconds, terms: Terms, work: Workload, batches: int
) -> RoundSeconds:
    """Batches that wait for nobody else's, after one that all begin together."""
    period = float(returning_periods(terms).max())
    epoch = first.batch + (batches - 1) * period
    return replace(first, batch=period, round=2 * first.download + work.epochs * epoch)


def returning_periods(terms: Terms) -> Floats:
    """Seconds between two batches of client n whose gradients come back from the server."""
    stages = (terms.there_and_back, terms.processor, terms.returning_radio, terms.uplink_shared)
    slowest: Floats = np.maximum(np.max(stages, axis=0), terms.server)
    return slowest


def _pipelined(terms: Terms, work: Workload, batches: int) -> RoundSeconds:
    fetch = float(terms.fetch.max())
    below, through = pipeline_ends(terms, batches)
    epoch = max(float(below.max()), float(through.max()))
    _, period = pipeline_periods(terms)
    return RoundSeconds(
        download=fetch,
        forward=float((terms.up + terms.uplink_shared).max()),
        backward=float(terms.down.max()),
        server=terms.server,
        upload=fetch,
        batch=float(period.max()),
        round=2 * fetch + work.epochs * epoch,
        heads=terms.heads,
    )


def pipeline_periods(terms: Terms) -> tuple[Floats, Floats]:
    """Seconds between two batches of client n: at the client, and at the end of the pipeline."""
    client = np.maximum(np.maximum(terms.chain, terms.processor), terms.radio)
    return client, np.maximum(np.maximum(client, terms.uplink_shared), terms.server)


def pipeline_ends(terms: Terms, batches: int) -> tuple[Floats, Floats]:
    """Seconds until client n is done with an epoch below the cut, and until the server is with it.

    The last batch leaves after its own way through, plus the slowest stage per batch before it.
    """
    client, period = pipeline_periods(terms)
    through = terms.up + terms.uplink_shared + terms.server
    return batches * client, through + (batches - 1) * period
