"""Small planning problems: named ones with a sentence each, and random ones.

Amounts come from tests.cost.instances: whole numbers up to a thousand, so that ties occur and every
device and link gets its turn as the slowest. `random_problem` has no ties: all its rates and
throughputs are drawn from the reals.
"""

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tests.cost.instances import MODELS, fleets, make_fleet, make_profile, profiles
from tiercut.cost import Placement, Workload, check_placement, scheme_named
from tiercut.fleet import Fleet, sample_fleet
from tiercut.plan.problem import Problem, Wishes, all_cuts, fewest_kept
from tiercut.scenario import FleetSection
from tiercut.seeds import Seeds

relaxed = settings(
    deadline=None,
    max_examples=150,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)

FIVE_LAYERS = make_profile([100] * 5, [40] * 5, [10] * 5)
"""Every layer costs the same."""


def one_strong_three_weak() -> Fleet:
    """Client a computes ten times as fast as b, c and d; all links are alike."""
    return make_fleet([100, 10, 10, 10], [8] * 4, 1000, [50] * 4, between=np.full((4, 4), 50.0))


def two_islands() -> Fleet:
    """a and b are linked, c and d are linked, and there is no link between the two pairs."""
    between = np.zeros((4, 4))
    between[[0, 1, 2, 3], [1, 0, 3, 2]] = 50.0
    return make_fleet([100, 10, 90, 10], [8] * 4, 1000, [50] * 4, between=between)


def all_apart() -> Fleet:
    """Nobody has a link to anybody but the server."""
    return make_fleet([100, 10, 10], [8] * 3, 1000, [50] * 3, between=np.zeros((3, 3)))


def problem_of(fleet: Fleet, cuts=(3, 4), scheme="aa-hsfl-ll", model="paper", **wishes) -> Problem:
    """A problem with FIVE_LAYERS on `fleet`; further keywords are wishes."""
    work = Workload(FIVE_LAYERS, batch=4, epochs=2)
    return Problem(fleet, work, cuts, model, Wishes(**wishes), scheme_named(scheme))


def random_problem(
    seed: int, clients: int = 5, *, model="paper", links="between", scheme="aa-hsfl-ll"
) -> Problem:
    """A problem in which no two clients, links or layers are alike, with all cuts allowed."""
    rng = np.random.default_rng(seed)
    depth = int(rng.integers(4, 8))
    profile = make_profile(*(rng.uniform(1e5, 1e6, (3, depth)) * [[100], [1], [0.01]]).tolist())
    section = FleetSection(
        clients=clients,
        examples=int(rng.integers(1, 400)),
        throughput=(2e9, 40e9),
        server=float(rng.uniform(50e9, 500e9)),
        links=links,
        rates=(5e5, 5e6),
    )
    how = scheme_named(scheme)
    fleet = sample_fleet(section, Seeds(seed))
    return Problem(fleet, Workload(profile), all_cuts(depth, how), model, scheme=how)


@st.composite
def wishes_for(draw, clients: int, fewest_kept: int, deepest_cut: int) -> Wishes:
    """What a user may fix or forbid; nothing in half of the cases, each."""
    client = st.integers(0, clients - 1)
    pair = st.tuples(client, client).filter(lambda pair: pair[0] != pair[1])
    return Wishes(
        draw(st.none() | st.integers(fewest_kept, deepest_cut - 1)),
        draw(st.none() | st.integers(1, clients)),
        draw(st.none() | st.frozensets(client)),
        draw(st.just(frozenset()) | st.frozensets(pair, max_size=4)),
    )


@st.composite
def problems(
    draw,
    *,
    min_clients: int = 2,
    max_clients: int = 5,
    scheme: str = "aa-hsfl-ll",
    model: str | None = None,
    kind: str | None = None,
    with_wishes: bool = False,
    max_layers: int = 7,
) -> Problem:
    """Any small problem: both cost models, both kinds of links, some links missing, ragged data."""
    how = scheme_named(scheme)
    profile = draw(profiles(max_layers=max_layers))
    fleet = draw(fleets(kind, max_clients).filter(lambda fleet: len(fleet) >= min_clients))
    kept = draw(st.sampled_from([None, 1]))
    possible = all_cuts(profile.depth, how, kept)
    cuts = tuple(sorted(draw(st.sets(st.sampled_from(possible), min_size=1))))
    wishes = Wishes()
    if with_wishes and how.three_tiers:
        wishes = draw(wishes_for(len(fleet), fewest_kept(how, kept), max(cuts)))
    return Problem(
        fleet,
        Workload(
            profile,
            batch=draw(st.integers(1, 5)),
            epochs=draw(st.integers(1, 3)),
            server_share=draw(st.sampled_from([1.0, 0.4])),
        ),
        cuts,
        model or draw(st.sampled_from(MODELS)),
        wishes,
        how,
        kept,
    )


def assert_honours(problem: Problem, placement: Placement) -> None:
    """The placement is valid for the problem and grants all its wishes."""
    check_placement(placement, problem.fleet, problem.depth)
    wishes, served_by = problem.wishes, placement.aggregator_of
    layers = set(zip(placement.aggregator_layers, placement.cut_layers, strict=True))
    assert len(layers) == 1
    assert layers <= set(problem.layer_pairs())
    assert wishes.aggregators in (None, len(placement.aggregators))
    for n, k in enumerate(served_by.tolist()):
        assert n == k or wishes.allowed is None or k in wishes.allowed
        assert not {(n, k), (k, n)} & wishes.forbidden
