import numpy as np
import pytest
import torch

from tests.compare.instances import comparison
from tiercut.compare.comparison import USUAL_SCHEMES, Job
from tiercut.cost import SchemeCost
from tiercut.errors import InputError
from tiercut.schemes import Scheme, find_scheme
from tiercut.schemes.scheme import AT_ROUND_END

OWN = Scheme(SchemeCost("own", "My own", local_loss=True, three_tiers=True), "exact", AT_ROUND_END)
NAMESAKE = Scheme(find_scheme("sfl").cost, "sfl", AT_ROUND_END)
UNFIT = Scheme(SchemeCost("../up", "Up", local_loss=True, three_tiers=False), "sfl", AT_ROUND_END)
HERE = "tests.compare.test_comparison"

FLEET = {"fleet": {"clients": 6}, "data": {"partition": "dirichlet"}}


def test_runs_of_one_seed_start_from_the_same_and_of_another_from_something_else():
    specs = (*USUAL_SCHEMES, "hsfl-ll", f"{HERE}:OWN")
    made = comparison(specs, changes=FLEET, fixed="aa", overrides={"sfl": {"training.rate": 0.5}})
    first, *others = (made.setting(job) for job in made.jobs if job.seed == 0)
    assert len(others) == 6
    for other in others:
        assert all(map(np.array_equal, first.task.shards, other.task.shards))
        weights, same = first.task.model.state_dict(), other.task.model.state_dict()
        assert weights.keys() == same.keys()
        assert all(torch.equal(weights[key], same[key]) for key in weights)
        assert (first.fleet.throughput == other.fleet.throughput).all()
        assert (first.test.labels == other.test.labels).all()
    another = made.setting(Job("sfl", 1, 2))
    assert not all(map(np.array_equal, first.task.shards, another.task.shards))


def test_runs_come_seed_by_seed():
    assert [str(job) for job in comparison().jobs] == [
        "sfl, seed 0",
        "aa-hsfl-ll, seed 0",
        "sfl, seed 1",
        "aa-hsfl-ll, seed 1",
    ]


def test_an_override_is_for_its_scheme_alone():
    made = comparison(overrides={"sfl": {"training.rate": 0.5, "training.rounds": 7}})
    sfl, ours = made.setting(made.jobs[0]), made.setting(made.jobs[1])
    assert (sfl.task.optimiser.rate, ours.task.optimiser.rate) == (0.5, 1e-3)
    assert [job.rounds for job in made.jobs] == [7, 2, 7, 2]


def test_a_scheme_of_ones_own_goes_by_its_name():
    made = comparison((f"{HERE}:OWN",))
    assert [job.scheme for job in made.jobs] == ["own", "own"]
    assert made.setting(made.jobs[0]).task.scheme == OWN


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"specs": ("sfl", "sfl")}, "two of the schemes are 'sfl'"),
        ({"specs": ("sfl", f"{HERE}:NAMESAKE")}, "two of the schemes are 'sfl'"),
        ({"specs": (f"{HERE}:UNFIT",)}, r"'../up' is no name for a folder"),
        ({"specs": ("slf",)}, r"there is no scheme 'slf' \(did you mean 'sfl'"),
        ({"seeds": (3, 3)}, "two of the seeds are '3'"),
        ({"specs": ("hsfl-ll",)}, "--hsfl-ll 3,8,20%, or .* --hsfl-ll aa"),
        ({"overrides": {"sfl": {"training.rat": 1}}}, "unknown key training.rat"),
    ],
)
def test_what_cannot_be_compared_is_refused(options, says):
    with pytest.raises(InputError, match=says):
        comparison(**options)


# ---------------------------------------------------------------------------------------- HSFL-ll


def decision(made, job):
    setting = made.setting(job)
    placement = setting.planner.first(setting.fleet).placement
    h, v = int(placement.aggregator_layers[0]), int(placement.cut_layers[0])
    return h, v, len(placement.aggregators)


def test_hsfl_ll_is_given_its_layers_and_share():
    made = comparison(("hsfl-ll",), fixed="2,4,40%")
    assert [decision(made, job) for job in made.jobs] == [(2, 4, 2), (2, 4, 2)]


@pytest.mark.parametrize("cut", [3, 4])
def test_hsfl_ll_has_the_layers_and_the_share_of_aa(cut):
    own = {"aa-hsfl-ll": {"plan.cuts": [cut]}}
    made = comparison(("hsfl-ll", "aa-hsfl-ll"), fixed="aa", overrides=own)
    theirs, ours, *_ = (decision(made, job) for job in made.jobs)
    assert theirs == ours
    assert ours[1] == cut


@pytest.mark.parametrize(
    ("fixed", "says"),
    [
        ("2,4", "write h, v and lambda like 3,8,20%, or aa"),
        ("two,4,1", "write h, v and lambda"),
        ("2,4,0", "expected a lambda above 0"),
        ("2,4,120%", "expected a lambda above 0"),
        ("4,4,1", "the aggregator layer is fixed to 4"),
        ("2,9,1", "cut layer 9 is outside"),
    ],
)
def test_layers_that_there_are_not_are_refused(fixed, says):
    made = comparison(("hsfl-ll",), fixed=fixed)
    with pytest.raises(InputError, match=says):
        made.setting(made.jobs[0])
