"""Random small rounds: fleets with both kinds of links, profiles, and placements for every scheme.

Work, sizes, throughputs and rates are all whole numbers up to a thousand. So every device and every
link gets its turn as the slowest, ties occur, and a counterexample can be worked out by hand.
"""

from dataclasses import dataclass, replace

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tiercut.cost import SCHEMES, Placement, Workload
from tiercut.fleet import Access, Between, Fleet
from tiercut.models.profile import HeadCost, LayerCost, Profile

relaxed = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])

ALL_SCHEMES = tuple(SCHEMES)
MODELS = ("paper", "network")
EVERY_WAY = tuple((scheme, model) for scheme in ALL_SCHEMES for model in MODELS)
LINKS = ("between", "access")


@dataclass(frozen=True)
class Instance:
    """A fleet and a workload, with one placement on three tiers and one cut for every client."""

    fleet: Fleet
    work: Workload
    three_tiers: Placement
    own_cuts: tuple[int, ...]

    @property
    def h(self) -> int:
        return int(self.three_tiers.aggregator_layers[0])

    @property
    def v(self) -> int:
        return int(self.three_tiers.cut_layers[0])

    def placement(self, scheme: str) -> Placement:
        """How the scheme of that name would run here."""
        if SCHEMES[scheme].three_tiers:
            return self.three_tiers
        if SCHEMES[scheme].cut_per_client:
            return Placement.two_tiers(self.own_cuts)
        return Placement.two_tiers([self.v] * len(self.fleet))

    def with_a_server_that_sees_all(self) -> "Instance":
        """The same instance, in which every sample goes up."""
        return replace(self, work=replace(self.work, server_share=1.0))

    def with_everybody_an_aggregator(self) -> "Instance":
        """The same round without groups: K = N."""
        everybody = np.arange(len(self.fleet))
        return replace(self, three_tiers=Placement.three_tiers(self.h, self.v, everybody))

    def relabelled(self, order: list[int]) -> "Instance":
        """The same round, with the clients listed in another order."""
        kept = np.array(order)
        new_label = np.argsort(kept)
        old = self.three_tiers
        return replace(
            self,
            fleet=self.fleet.subset(kept),
            three_tiers=Placement(
                old.aggregator_layers[kept],
                old.cut_layers[kept],
                new_label[old.aggregator_of[kept]],
            ),
            own_cuts=tuple(self.own_cuts[n] for n in order),
        )


def make_profile(flops, weight_bytes, activation_bytes, heads=None) -> Profile:
    """A profile from one list per amount, a number per layer."""
    columns = zip(flops, weight_bytes, activation_bytes, strict=True)
    return Profile(
        name="made up",
        parameters=0,
        layers=tuple(
            LayerCost(
                index=i, name=f"layer{i}", flops=f, weight_bytes=a, activation_bytes=g, parameters=0
            )
            for i, (f, a, g) in enumerate(columns, start=1)
        ),
        heads=heads,
    )


def make_fleet(throughput, examples, server, to_server, *, between=None, access=None) -> Fleet:
    """A fleet from plain lists; its clients are called a, b, c and so on."""
    return Fleet(
        tuple("abcdefgh"[: len(throughput)]),
        np.array(throughput, dtype=float),
        np.array(examples, dtype=np.int64),
        float(server),
        np.array(to_server, dtype=float),
        Access(np.array(access, dtype=float))
        if between is None
        else Between(np.array(between, dtype=float)),
    )


amounts = st.integers(0, 1000).map(float)
speeds = st.integers(1, 1000).map(float)


def several(values, count):
    return st.lists(values, min_size=count, max_size=count)


@st.composite
def profiles(draw, min_layers=4, max_layers=7) -> Profile:
    depth = draw(st.integers(min_layers, max_layers))
    head = st.builds(HeadCost, flops=amounts, weight_bytes=amounts)
    return make_profile(
        draw(several(amounts, depth)),
        draw(several(amounts, depth)),
        draw(several(speeds, depth)),
        draw(st.none() | several(head, depth).map(tuple)),
    )


@st.composite
def fleets(draw, kind=None, max_clients=7) -> Fleet:
    """A fleet with ragged examples; on independent links some pairs have no link."""
    count = draw(st.integers(1, max_clients))
    links = draw(st.sampled_from(LINKS)) if kind is None else kind
    between = access = None
    if links == "access":
        access = draw(several(speeds, count))
    else:
        between = np.zeros((count, count))
        upper = np.triu_indices(count, 1)
        no_link_or_rate = st.just(0.0) | speeds | speeds | speeds
        between[upper] = draw(several(no_link_or_rate, len(upper[0])))
        between += between.T
    return make_fleet(
        draw(several(speeds, count)),
        draw(several(st.integers(1, 12), count)),
        draw(speeds),
        draw(several(speeds, count)),
        between=between,
        access=access,
    )


@st.composite
def groupings(draw, fleet) -> list[int]:
    """Who serves whom: aggregators serve themselves, others somebody they have a link to."""
    count = len(fleet)
    everybody = np.arange(count)
    chosen = draw(st.sets(st.integers(0, count - 1), min_size=1))
    served_by = []
    for n in range(count):
        rates = fleet.links.pairs(np.full(count, n), everybody)
        reachable = [k for k in sorted(chosen) if k != n and rates[k] > 0]
        served_by.append(
            n if n in chosen or not reachable else draw(st.sampled_from(reachable), label=str(n))
        )
    return served_by


@st.composite
def instances(draw, kind=None, max_clients=7) -> Instance:
    profile = draw(profiles())
    fleet = draw(fleets(kind, max_clients))
    v = draw(st.integers(3, profile.depth - 1))
    h = draw(st.integers(2, v - 1))
    return Instance(
        fleet,
        Workload(
            profile,
            batch=draw(st.integers(1, 5)),
            epochs=draw(st.integers(1, 3)),
            portions=draw(st.integers(1, 3)),
            server_share=draw(st.sampled_from([1.0, 0.6, 0.25])),
        ),
        Placement.three_tiers(h, v, draw(groupings(fleet))),
        tuple(draw(several(st.integers(1, profile.depth - 1), len(fleet)))),
    )
